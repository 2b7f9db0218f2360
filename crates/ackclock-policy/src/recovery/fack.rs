use ackclock_units::{Bytes, SeqNumber, SeqRange};

use super::counting::Counting;
use super::course::{calm, lost_or_new, mark_first, settled};
use super::cut::Cut;
use super::duplicates::{DUP_THRESH, LIMITED_TRANSMIT};
use super::early::EARLY_RETRANSMIT;
use super::halving::{ADJUSTMENT, BOUNDS, WHOLE_SEGS};
use super::holes::{lost_below, unreported};
use super::newreno::NewReno;
use super::resent::lost_retransmissions;
use crate::{
    AckInfo, Adjustment, Entry, LossRecovery, Param, Phase, Policy, PrivateState, ScoreboardView, SenderView,
};

/// Forward acknowledgment: everything below the forward-most SACKed byte has left the network, so
/// `snd_nxt - fack` and what was resent are in it. Its parts - when a hole is resent, how the window comes
/// down, what becomes of lost retransmissions - are chosen apart.
#[derive(Debug)]
struct Fack {
    /// Also counts duplicates where there is SACK.
    without_sack: Counting<NewReno>,
    cut: Cut,
    /// A hole is resent only with enough segments SACKed above it.
    each_hole: bool,
    /// False until the first ack told where the sequence numbers are.
    following: bool,
    /// Everything un-SACKed below it is marked lost; never behind `snd_una`.
    marked_to: SeqNumber,
    /// The same from before a timeout.
    marked_before: SeqNumber,
    /// Forward-most SACKed byte, or `snd_una`.
    fack: SeqNumber,
    /// Bytes below `fack` that are neither SACKed nor marked: they left the network all the same.
    unmarked: u32,
    /// The first retransmission of the episode is still to come.
    owing: bool,
}

impl Fack {
    fn follow(&mut self, b: &dyn ScoreboardView, v: &SenderView) {
        self.marked_to = if self.following { self.marked_to.max(v.snd_una) } else { v.snd_una };
        self.following = true;
        self.fack = b.sacked().last().map_or(v.snd_una, |range| range.end);
        self.without_sack.duplicates.follow(v);
    }

    /// Marks what is to be resent; true when the first outstanding byte has been. `all`: without a threshold
    /// for each hole, everything below `fack`.
    fn mark(&mut self, all: bool, b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) -> bool {
        let eligible = if all && !self.each_hole {
            b.sacked().last().map(|range| range.start)
        } else {
            lost_below(b.sacked(), self.without_sack.duplicates.dup_thresh(), v)
        };
        if let Some(boundary) = eligible.filter(|seq| *seq > self.marked_to && *seq <= v.snd_nxt) {
            lost.push(SeqRange::new(self.marked_to, boundary));
            self.marked_to = boundary;
        }
        self.marked_to > v.snd_una
    }

    /// Enough duplicates, or all that can be expected (RFC 5827).
    fn are_enough(&self, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        v.dup_acks >= self.without_sack.duplicates.dup_thresh() || self.without_sack.duplicates.are_all(b, v)
    }

    /// M-A7: enough duplicates, or the forward-most SACK as far ahead.
    fn is_lost(&self, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        let dup_thresh = self.without_sack.duplicates.dup_thresh();
        self.are_enough(b, v)
            || u64::from(self.fack.min(v.data_end).bytes_since(v.snd_una))
                > u64::from(dup_thresh) * u64::from(v.smss)
    }

    fn in_flight(&self, v: &SenderView) -> Bytes {
        v.pipe.saturating_sub(u64::from(self.unmarked))
    }

    fn take(
        &mut self,
        a: &AckInfo,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Phase {
        let dup_thresh = self.without_sack.duplicates.dup_thresh();
        match v.phase {
            Phase::Loss if !settled(v) => {
                self.cut.find(dup_thresh, b, v, lost);
                return Phase::Loss;
            }
            Phase::Recovery if !settled(v) => {
                self.cut.count(a, self.fack, v);
                self.mark(true, b, v, lost);
                self.owe(lost);
                self.cut.find(dup_thresh, b, v, lost);
                return Phase::Recovery;
            }
            Phase::Recovery => {
                self.cut.count(a, self.fack, v);
                self.cut.close();
                // The next ack may open another episode.
                return if b.sacked().is_empty() { calm(v) } else { Phase::Disorder };
            }
            Phase::Loss => self.cut.close(),
            _ => {}
        }
        if b.sacked().is_empty() && v.dup_acks == 0 {
            self.cut.stop();
            return calm(v);
        }
        self.cut.suspect(a, self.fack, v);
        if !self.is_lost(b, v) && !self.mark(false, b, v, lost) {
            return if calm(v) == Phase::Open { Phase::Disorder } else { calm(v) };
        }
        if !self.mark(true, b, v, lost) && self.are_enough(b, v) {
            mark_first(b, v, lost);
            self.marked_to = lost.last().map_or(self.marked_to, |first| first.end);
        }
        self.cut.open(v);
        self.owing = !self.cut.is_gradual();
        self.owe(lost);
        Phase::Recovery
    }

    /// The first retransmission goes out even if the window is full (RFC 5681 §3.2 step 3); halving the rate,
    /// it waits for its turn.
    fn owe(&mut self, lost: &[SeqRange]) {
        if self.owing && !lost.is_empty() {
            self.owing = false;
            self.without_sack.duplicates.owe();
        }
    }
}

impl Policy for Fack {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("fack", f64::from(self.fack.0));
        state.number("marked_to", f64::from(self.marked_to.0));
    }
}

impl LossRecovery for Fack {
    fn on_ack(
        &mut self,
        a: &AckInfo,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Phase {
        if !v.sack {
            return self.without_sack.on_ack(a, b, v, lost);
        }
        self.follow(b, v);
        let phase = self.take(a, b, v, lost);
        self.unmarked = unreported(b.sacked(), self.marked_to);
        phase
    }

    fn adjust(&mut self, v: &SenderView) -> Adjustment {
        self.cut.adjust(self.in_flight(v), v)
    }

    fn on_rto(&mut self, b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) {
        self.without_sack.on_rto(b, v, lost);
        self.cut.restart(v);
        if v.expiries <= 1 {
            self.marked_before = if self.following { self.marked_to } else { v.snd_una };
        }
        (self.following, self.marked_to, self.fack, self.unmarked) = (true, v.snd_nxt, v.snd_una, 0);
    }

    fn next_seg(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
        lost_or_new(b, v)
    }

    fn on_retransmit(&mut self, sent: SeqRange, v: &SenderView) {
        self.without_sack.on_retransmit(sent, v);
        self.cut.note(sent, v);
    }

    fn quota(&mut self, v: &SenderView) -> Bytes {
        if !v.sack {
            return self.without_sack.quota(v);
        }
        let in_flight = self.in_flight(v);
        let halved = self.cut.quota(in_flight, v);
        halved.unwrap_or_else(|| self.without_sack.duplicates.quota(&SenderView { pipe: in_flight, ..*v }))
    }

    fn on_undo(&mut self, v: &SenderView) {
        self.without_sack.on_undo(v);
        self.cut.restart(v);
        self.marked_to = self.marked_before.max(v.snd_una);
    }
}

/// Forward acknowledgment and rate-halving.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "fack",
    about: "SACK-based recovery that takes everything below the forward-most SACK to have left the network; \
            its parts can be chosen apart. `newreno` without SACK.",
    source: "M-A7 (definition from common knowledge of FACK), M-A8, M-A9, M-A10, M-A11",
    params: &[
        DUP_THRESH,
        LIMITED_TRANSMIT,
        EARLY_RETRANSMIT,
        ADJUSTMENT,
        Param::flag(
            "each_hole",
            true,
            "resend a hole only when `dup_thresh` segments above it are SACKed (M-A9), rather than \
             everything below the forward-most SACK once one loss is certain",
        ),
        lost_retransmissions("reduce"),
        BOUNDS,
        WHOLE_SEGS,
    ],
    build: |p| {
        Box::new(Fack {
            without_sack: NewReno::counting(p, true),
            cut: Cut::new(p),
            each_hole: p.flag("each_hole"),
            following: false,
            marked_to: SeqNumber(0),
            marked_before: SeqNumber(0),
            fack: SeqNumber(0),
            unmarked: 0,
            owing: false,
        })
    },
};
