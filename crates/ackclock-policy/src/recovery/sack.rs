use ackclock_units::{Bytes, SeqNumber, SeqRange};

use super::counting::Counting;
use super::course::{calm, mark_first, new_data, settled};
use super::cut::Cut;
use super::duplicates::{DUP_THRESH, LIMITED_TRANSMIT};
use super::early::EARLY_RETRANSMIT;
use super::halving::{ADJUSTMENT, BOUNDS, WHOLE_SEGS};
use super::holes::lost_below;
use super::newreno::NewReno;
use super::resent::lost_retransmissions;
use crate::{
    AckInfo, Adjustment, Entry, LossRecovery, Phase, Policy, PrivateState, ScoreboardView, SenderView,
};

/// RFC 6675. Marks on the scoreboard say what IsLost() would: each byte is marked at most once on the way up,
/// so an ack costs the few SACKed ranges at the top and whatever is newly lost, not the whole scoreboard.
#[derive(Debug)]
struct Sack {
    /// Also counts duplicates where there is SACK.
    without_sack: Counting<NewReno>,
    cut: Cut,
    /// False until the first ack told where the sequence numbers are.
    following: bool,
    /// Everything un-SACKed below it is marked lost; never behind `snd_una`.
    marked_to: SeqNumber,
    /// Everything un-SACKed below it was marked or resent before a timeout.
    seen_before: SeqNumber,
    /// Everything un-SACKed below it was resent in this episode (HighRxt); never behind `snd_una`.
    high_rxt: SeqNumber,
    /// No rescue retransmission before more than this is acknowledged (RescueRxt), while `rescue_waits`: the
    /// first retransmission of this episode, or all of it once the rescue is spent.
    rescue_rxt: SeqNumber,
    rescue_waits: bool,
    advice: Advice,
}

/// What `next_seg` answered last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Advice {
    Retransmission,
    NewData,
    Rescue,
}

impl Sack {
    fn follow(&mut self, v: &SenderView) {
        let held = |kept: SeqNumber| if self.following { kept.max(v.snd_una) } else { v.snd_una };
        (self.marked_to, self.high_rxt) = (held(self.marked_to), held(self.high_rxt));
        self.following = true;
    }

    /// Marks what has become lost; true when that is the case for the first outstanding byte.
    fn mark(&mut self, b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) -> bool {
        let Some(boundary) = lost_below(b.sacked(), self.without_sack.duplicates.dup_thresh(), v)
            .filter(|seq| *seq <= v.snd_nxt)
        else {
            return false;
        };
        // What was resent before it was known to be lost (rule 3) is not marked again.
        let from = self.marked_to.max(self.high_rxt);
        if boundary > from {
            lost.push(SeqRange::new(from, boundary));
            self.marked_to = boundary;
        }
        boundary > v.snd_una
    }

    fn advise(&mut self, advice: Advice, range: SeqRange) -> Option<SeqRange> {
        self.advice = advice;
        Some(range)
    }

    /// The highest outstanding un-SACKed segment, if it was not resent in this episode yet and the rescue is
    /// not spent (RFC 6675 §4 NextSeg rule 4, which leaves open that the segment may have been resent; the
    /// tail of the window is what it is for).
    fn rescue(&self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
        if self.rescue_waits && v.snd_una <= self.rescue_rxt {
            return None;
        }
        let top =
            b.sacked().last().filter(|range| range.end == v.snd_nxt).map_or(v.snd_nxt, |range| range.start);
        let tail = b.segment(top - 1)?.range;
        let start = if tail.len() > v.smss { tail.end - v.smss } else { tail.start };
        (start >= self.high_rxt).then_some(SeqRange::new(start, tail.end))
    }
}

impl Policy for Sack {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("high_rxt", f64::from(self.high_rxt.0));
        state.number("marked_to", f64::from(self.marked_to.0));
    }
}

impl LossRecovery for Sack {
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
        self.follow(v);
        let sacked = b.sacked();
        let fack = sacked.last().map_or(v.snd_una, |range| range.end);
        match v.phase {
            // RFC 6675 §5.1: no other episode before the timeout's is over.
            Phase::Loss if !settled(v) => {
                self.cut.find(self.without_sack.duplicates.dup_thresh(), b, v, lost);
                return Phase::Loss;
            }
            Phase::Recovery if !settled(v) => {
                self.cut.count(a, fack, v);
                self.mark(b, v, lost);
                self.cut.find(self.without_sack.duplicates.dup_thresh(), b, v, lost);
                return Phase::Recovery;
            }
            // Step A. The next ack may open another episode.
            Phase::Recovery => {
                self.cut.count(a, fack, v);
                self.cut.close();
                return if sacked.is_empty() { calm(v) } else { Phase::Disorder };
            }
            Phase::Loss => self.cut.close(),
            _ => {}
        }
        if sacked.is_empty() && v.dup_acks == 0 {
            self.cut.stop();
        } else {
            self.cut.suspect(a, fack, v);
        }
        if !a.has_sack && v.dup_acks == 0 {
            return calm(v);
        }
        self.high_rxt = v.snd_una;
        // §5: step 2, or step 1 without enough bytes SACKed.
        let first_is_lost = self.mark(b, v, lost);
        if first_is_lost
            || v.dup_acks >= self.without_sack.duplicates.dup_thresh()
            || self.without_sack.duplicates.are_all(b, v)
        {
            if !first_is_lost {
                mark_first(b, v, lost);
            }
            // Step 4.3: no rescue before the first retransmission is acknowledged, and more.
            let first = b.segment(v.snd_una);
            (self.rescue_rxt, self.rescue_waits) =
                (first.map_or(v.snd_una, |first| first.range.end), first.is_some());
            self.cut.open(v);
            if !self.cut.is_gradual() {
                self.without_sack.duplicates.begin(v);
            }
            return Phase::Recovery;
        }
        match calm(v) {
            Phase::Open if !b.sacked().is_empty() => Phase::Disorder,
            phase => phase,
        }
    }

    fn adjust(&mut self, v: &SenderView) -> Adjustment {
        self.cut.adjust(v.pipe, v)
    }

    fn on_rto(&mut self, b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) {
        self.without_sack.on_rto(b, v, lost);
        self.cut.restart(v);
        if v.expiries <= 1 {
            self.seen_before = if self.following { self.marked_to.max(self.high_rxt) } else { v.snd_una };
        }
        (self.following, self.marked_to, self.high_rxt, self.rescue_waits) =
            (true, v.snd_nxt, v.snd_una, false);
    }

    fn next_seg(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
        if !v.sack {
            return self.without_sack.next_seg(b, v);
        }
        self.follow(v);
        // Rule 1. What was resent carries no mark any more, so HighRxt need not be asked.
        if let Some(range) = b.next_lost(v.snd_una) {
            return self.advise(Advice::Retransmission, range);
        }
        // Rule 2
        if let Some(range) = new_data(v) {
            return self.advise(Advice::NewData, range);
        }
        if v.phase != Phase::Recovery {
            return None;
        }
        // Rule 3: a hole below something SACKed, not known to be lost.
        let below = b.sacked().last().map_or(v.snd_una, |range| range.end);
        if let Some(range) = b.next_unsacked(self.high_rxt).filter(|range| range.end <= below) {
            return self.advise(Advice::Retransmission, range);
        }
        // Rule 4
        self.rescue(b, v).and_then(|range| self.advise(Advice::Rescue, range))
    }

    fn on_retransmit(&mut self, sent: SeqRange, v: &SenderView) {
        self.without_sack.on_retransmit(sent, v);
        self.cut.note(sent, v);
        match self.advice {
            Advice::NewData => {}
            Advice::Retransmission => self.high_rxt = self.high_rxt.max(sent.end),
            // HighRxt stays (§4 NextSeg rule 4).
            Advice::Rescue => (self.rescue_rxt, self.rescue_waits) = (v.recovery_point, true),
        }
    }

    fn quota(&mut self, v: &SenderView) -> Bytes {
        if !v.sack {
            return self.without_sack.quota(v);
        }
        if let Some(halved) = self.cut.quota(v.pipe, v) {
            return halved;
        }
        // §5 step 3: in Disorder `pipe` alone limits, when Limited Transmit is on.
        if v.phase == Phase::Disorder && self.without_sack.duplicates.limited_transmit() {
            return v.room();
        }
        self.without_sack.duplicates.quota(v)
    }

    fn on_undo(&mut self, v: &SenderView) {
        self.without_sack.on_undo(v);
        self.cut.restart(v);
        // The marks from before the timeout are back, and what was resent then is on its way.
        let seen = self.seen_before.max(v.snd_una);
        (self.marked_to, self.high_rxt) = (seen, seen);
    }
}

/// SACK-based recovery.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "sack",
    about: "SACK-based recovery (RFC 6675): resends holes with three segments SACKed above them, as the \
            estimate of what is in the network allows; `newreno` without SACK.",
    source: "M-A6, M-A8, M-A10, M-A11; RFC 6675",
    params: &[
        DUP_THRESH,
        LIMITED_TRANSMIT,
        EARLY_RETRANSMIT,
        ADJUSTMENT,
        lost_retransmissions("ignore"),
        BOUNDS,
        WHOLE_SEGS,
    ],
    build: |p| {
        Box::new(Sack {
            without_sack: NewReno::counting(p, true),
            cut: Cut::new(p),
            following: false,
            marked_to: SeqNumber(0),
            seen_before: SeqNumber(0),
            high_rxt: SeqNumber(0),
            rescue_rxt: SeqNumber(0),
            rescue_waits: false,
            advice: Advice::NewData,
        })
    },
};
