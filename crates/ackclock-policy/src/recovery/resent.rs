use std::collections::VecDeque;

use ackclock_units::{SeqNumber, SeqRange};

use super::holes::sacked_above;
use crate::{Param, Params, ScoreboardView, SenderView};

/// Finds out which retransmissions were lost in their turn (M-A10): what was sent for the first time after
/// them arrives, and they do not.
#[derive(Debug)]
pub(super) struct Resent {
    rule: Rule,
    /// What was found calls for another reduction.
    reduce: bool,
    /// Room for them, taken when it is needed for the first time.
    list: Option<Box<List>>,
}

#[derive(Debug, Default)]
struct List {
    /// What was resent, and `snd_nxt` then; in the order of sending.
    sent: VecDeque<(SeqRange, SeqNumber)>,
    /// What was resent before this point was of a window for which the congestion window was reduced already.
    reduced_at: SeqNumber,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Ignore,
    Resend,
    Reduce,
}

impl Resent {
    /// Reads [`LOST_RETRANSMISSIONS`].
    pub fn new(p: &Params) -> Self {
        let rule = match p.choice("lost_retransmissions") {
            "ignore" => Rule::Ignore,
            "resend" => Rule::Resend,
            _ => Rule::Reduce,
        };
        Self { rule, reduce: false, list: None }
    }

    /// An episode begins, or the timer expired: what comes is of a new window, and what was resent before is
    /// of no interest.
    pub fn begin(&mut self, v: &SenderView) {
        self.forget();
        if self.rule != Rule::Ignore {
            self.list.get_or_insert_default().reduced_at = v.snd_nxt;
        }
    }

    /// Nothing is missing any more.
    pub fn forget(&mut self) {
        self.reduce = false;
        if let Some(list) = &mut self.list {
            list.sent.clear();
            list.sent.shrink_to(SPARE);
        }
    }

    /// `range` was sent again.
    pub fn note(&mut self, range: SeqRange, v: &SenderView) {
        if let Some(list) = &mut self.list {
            list.sent.push_back((range, v.snd_nxt));
        }
    }

    /// Adds to `lost` what was resent and is still missing although `dup_thresh` segments sent after it were
    /// SACKed. True when that is a congestion signal of its own: the loss of a retransmission is one, and the
    /// window is reduced a second time (RFC 5681 §4.3), once for all that were sent in one round trip.
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

    /// True, once, when what was found is a congestion signal of its own.
    pub fn take_signal(&mut self) -> bool {
        std::mem::take(&mut self.reduce)
    }
}

/// Room for so many is kept for another time.
const SPARE: usize = 32;

/// What happens to them.
pub(super) const fn lost_retransmissions(default: &'static str) -> Param {
    Param::choice(
        "lost_retransmissions",
        default,
        &["ignore", "resend", "reduce"],
        "a retransmission still missing when `dup_thresh` segments sent for the first time after it were \
         SACKed: left to the timer, resent, or resent and the window reduced again, as RFC 5681 4.3 has it \
         (M-A10)",
    )
}
