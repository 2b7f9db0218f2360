use std::collections::VecDeque;

use ackclock_units::{SeqNumber, SeqRange};

use super::holes::sacked_above;
use crate::{Param, Params, ScoreboardView, SenderView};

/// Detects lost retransmissions (M-A10): data sent for the first time after them is delivered, and they are
/// not.
#[derive(Debug)]
pub(super) struct LostRetransmissions {
    rule: Rule,
    /// A lost retransmission requires another reduction.
    reduce: bool,
    /// Allocated at the first retransmission of the connection.
    list: Option<Box<List>>,
}

#[derive(Debug, Default)]
struct List {
    /// Retransmitted ranges, each with `snd_nxt` at that time, in the order of transmission.
    sent: VecDeque<(SeqRange, SeqNumber)>,
    /// The congestion window was already reduced for what was retransmitted before this point.
    reduced_at: SeqNumber,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Ignore,
    Resend,
    Reduce,
}

impl LostRetransmissions {
    /// Reads [`LOST_RETRANSMISSIONS`].
    pub fn new(p: &Params) -> Self {
        let rule = match p.choice("lost_retransmissions") {
            "ignore" => Rule::Ignore,
            "resend" => Rule::Resend,
            _ => Rule::Reduce,
        };
        Self { rule, reduce: false, list: None }
    }

    /// An episode begins, or the timer expired: earlier retransmissions are forgotten.
    pub fn begin(&mut self, v: &SenderView) {
        self.forget();
        if self.rule != Rule::Ignore {
            self.list.get_or_insert_default().reduced_at = v.snd_nxt;
        }
    }

    /// Forgets all retransmissions.
    pub fn forget(&mut self) {
        self.reduce = false;
        if let Some(list) = &mut self.list {
            list.sent.clear();
            list.sent.shrink_to(SPARE);
        }
    }

    /// `range` was retransmitted.
    pub fn note(&mut self, range: SeqRange, v: &SenderView) {
        if let Some(list) = &mut self.list {
            list.sent.push_back((range, v.snd_nxt));
        }
    }

    /// Adds to `lost` the retransmissions that are still missing although `dup_thresh` segments sent after
    /// them were SACKed. Returns true when that is a further congestion signal: the loss of a retransmission
    /// reduces the window a second time (RFC 5681 §4.3), once for all that were sent in one round trip.
    pub fn find(
        &mut self,
        dup_thresh: u32,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> bool {
        let Some(list) = self.list.as_deref_mut().filter(|list| !list.sent.is_empty()) else { return false };
        let Some(limit) = sacked_above(b.sacked(), dup_thresh, v) else { return false };
        let mut signal = false;
        while let Some((range, then)) = list.sent.front().copied().filter(|(_, then)| *then <= limit) {
            list.sent.pop_front();
            let start = range.start.max(v.snd_una);
            if start < range.end && b.segment(start).is_some_and(|s| !s.sacked) {
                lost.push(SeqRange::new(start, range.end));
                signal |= then >= list.reduced_at;
            }
        }
        if signal && self.rule == Rule::Reduce {
            list.reduced_at = v.snd_nxt;
            self.reduce = true;
        }
        self.reduce
    }

    /// True, once, when a further congestion signal was found.
    pub fn take_signal(&mut self) -> bool {
        std::mem::take(&mut self.reduce)
    }
}

/// Capacity that is kept for later.
const SPARE: usize = 32;

/// What to do with lost retransmissions.
pub(super) const fn lost_retransmissions(default: &'static str) -> Param {
    Param::choice(
        "lost_retransmissions",
        default,
        &["ignore", "resend", "reduce"],
        // M-A10
        "what to do with a retransmission that is still missing when `dup_thresh` segments first sent after \
         it are SACKed: `ignore` leaves it to the timer, `resend` retransmits it, `reduce` also reduces the \
         window again as in RFC 5681 4.3",
    )
}
