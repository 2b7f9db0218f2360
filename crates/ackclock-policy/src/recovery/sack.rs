use ackclock_units::{Bytes, SeqNumber, SeqRange};

use super::counting::Counting;
use super::duplicates::{DUP_THRESH, LIMITED_TRANSMIT};
use super::early::EARLY_RETRANSMIT;
use super::episode::{is_over, mark_first, new_data, phase_outside_repair};
use super::halving::{ADJUSTMENT, BOUNDS, WHOLE_SEGS};
use super::holes::lost_below;
use super::lost_retransmissions::lost_retransmissions;
use super::newreno::NewReno;
use super::sack_repair::SackRepair;
use crate::{
    AckInfo, Adjustment, Entry, LossRecovery, Phase, Policy, PrivateState, ScoreboardView, SenderView,
};

/// RFC 6675. The lost marks on the scoreboard are the results of IsLost(). Each byte is marked at most once,
/// so that the cost of an ack is that of the few highest SACKed ranges and the newly lost segments, not of
/// the whole scoreboard.
#[derive(Debug)]
struct Sack {
    /// Also counts duplicates where there is SACK.
    without_sack: Counting<NewReno>,
    repair: SackRepair,
    /// False until the first ack initialized the sequence numbers.
    initialized: bool,
    /// Everything un-SACKed below it is marked lost; never behind `snd_una`.
    marked_to: SeqNumber,
    /// Everything un-SACKed below it was marked or retransmitted before a timeout.
    marked_before_rto: SeqNumber,
    /// Everything un-SACKed below it was retransmitted in this episode (HighRxt); never behind `snd_una`.
    high_rxt: SeqNumber,
    /// No rescue retransmission before more than this is acknowledged (RescueRxt), while `rescue_waits`: the
    /// first retransmission of this episode, or all of it once the rescue was used.
    rescue_rxt: SeqNumber,
    rescue_waits: bool,
    advice: Advice,
}

/// What `next_seg` returned last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Advice {
    Retransmission,
    NewData,
    Rescue,
}

impl Sack {
    fn update(&mut self, v: &SenderView) {
        let held = |kept: SeqNumber| if self.initialized { kept.max(v.snd_una) } else { v.snd_una };
        (self.marked_to, self.high_rxt) = (held(self.marked_to), held(self.high_rxt));
        self.initialized = true;
    }

    /// Marks what is newly lost; returns true when the first outstanding byte is lost.
    fn mark(&mut self, b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) -> bool {
        let Some(boundary) = lost_below(b.sacked(), self.without_sack.duplicates.dup_thresh(), v)
            .filter(|seq| *seq <= v.snd_nxt)
        else {
            return false;
        };
        // What was retransmitted before it was known to be lost (rule 3) is not marked again.
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

    /// The highest outstanding un-SACKed segment, unless it was already retransmitted in this episode or the
    /// rescue was used (RFC 6675 §4 NextSeg rule 4, which does not say whether the segment may have been
    /// retransmitted; it is meant for the tail of the window).
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
        self.update(v);
        let sacked = b.sacked();
        let fack = sacked.last().map_or(v.snd_una, |range| range.end);
        match v.phase {
            // RFC 6675 §5.1: no other episode before the timeout's is over.
            Phase::Loss if !is_over(v) => {
                self.repair.find(self.without_sack.duplicates.dup_thresh(), b, v, lost);
                return Phase::Loss;
            }
            Phase::Recovery if !is_over(v) => {
                self.repair.count(a, fack, v);
                self.mark(b, v, lost);
                self.repair.find(self.without_sack.duplicates.dup_thresh(), b, v, lost);
                return Phase::Recovery;
            }
            // Step A. The next ack may open another episode.
            Phase::Recovery => {
                self.repair.count(a, fack, v);
                self.repair.close();
                return if sacked.is_empty() { phase_outside_repair(v) } else { Phase::Disorder };
            }
            Phase::Loss => self.repair.close(),
            _ => {}
        }
        if sacked.is_empty() && v.dup_acks == 0 {
            self.repair.stop();
        } else {
            self.repair.suspect(a, fack, v);
        }
        if !a.has_sack && v.dup_acks == 0 {
            return phase_outside_repair(v);
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
            self.repair.open(v);
            if !self.repair.is_gradual() {
                self.without_sack.duplicates.begin(v);
            }
            return Phase::Recovery;
        }
        match phase_outside_repair(v) {
            Phase::Open if !b.sacked().is_empty() => Phase::Disorder,
            phase => phase,
        }
    }

    fn adjust(&mut self, v: &SenderView) -> Adjustment {
        self.repair.adjust(v.pipe, v)
    }

    fn on_rto(&mut self, b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) {
        self.without_sack.on_rto(b, v, lost);
        self.repair.restart(v);
        if v.expiries <= 1 {
            self.marked_before_rto =
                if self.initialized { self.marked_to.max(self.high_rxt) } else { v.snd_una };
        }
        (self.initialized, self.marked_to, self.high_rxt, self.rescue_waits) =
            (true, v.snd_nxt, v.snd_una, false);
    }

    fn next_seg(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
        if !v.sack {
            return self.without_sack.next_seg(b, v);
        }
        self.update(v);
        // Rule 1. Retransmitted segments are not marked any more, so that HighRxt need not be compared.
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
        self.repair.note(sent, v);
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
        if let Some(halved) = self.repair.quota(v.pipe, v) {
            return halved;
        }
        // §5 step 3: in Disorder only `pipe` limits, when Limited Transmit is on.
        if v.phase == Phase::Disorder && self.without_sack.duplicates.limited_transmit() {
            return v.room();
        }
        self.without_sack.duplicates.quota(v)
    }

    fn on_undo(&mut self, v: &SenderView) {
        self.without_sack.on_undo(v);
        self.repair.restart(v);
        // The marks from before the timeout are restored, and what was retransmitted then is in flight.
        let seen = self.marked_before_rto.max(v.snd_una);
        (self.marked_to, self.high_rxt) = (seen, seen);
    }
}

/// SACK-based recovery.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "sack",
    about: "SACK-based recovery (RFC 6675): retransmits holes with three segments SACKed above them, as the \
            pipe estimate allows; acts as `newreno` without SACK.",
    source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A6, M-A8, M-A10, M-A11); RFC 6675",
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
            repair: SackRepair::new(p),
            initialized: false,
            marked_to: SeqNumber(0),
            marked_before_rto: SeqNumber(0),
            high_rxt: SeqNumber(0),
            rescue_rxt: SeqNumber(0),
            rescue_waits: false,
            advice: Advice::NewData,
        })
    },
};
