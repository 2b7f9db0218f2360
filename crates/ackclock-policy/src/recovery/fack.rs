use ackclock_units::{Bytes, SeqNumber, SeqRange};

use super::counting::Counting;
use super::duplicates::{DUP_THRESH, LIMITED_TRANSMIT};
use super::early::EARLY_RETRANSMIT;
use super::episode::{is_over, lost_or_new, mark_first, phase_outside_repair};
use super::halving::{ADJUSTMENT, BOUNDS, WHOLE_SEGS};
use super::holes::{lost_below, unreported};
use super::lost_retransmissions::lost_retransmissions;
use super::newreno::NewReno;
use super::sack_repair::SackRepair;
use crate::{
    AckInfo, Adjustment, Entry, LossRecovery, Param, Phase, Policy, PrivateState, ScoreboardView, SenderView,
};

/// Forward acknowledgment: everything below the forward-most SACKed byte has left the network, so that
/// `snd_nxt - fack` and retransmissions are in it. Its parts - when a hole is retransmitted, how the window
/// is reduced, what is done with lost retransmissions - are separate options.
#[derive(Debug)]
struct Fack {
    /// Also counts duplicates where there is SACK.
    without_sack: Counting<NewReno>,
    repair: SackRepair,
    /// A hole is retransmitted only with enough segments SACKed above it.
    each_hole: bool,
    /// False until the first ack initialized the sequence numbers.
    initialized: bool,
    /// Everything un-SACKed below it is marked lost; never behind `snd_una`.
    marked_to: SeqNumber,
    /// `marked_to` as before a timeout.
    marked_before: SeqNumber,
    /// Forward-most SACKed byte, or `snd_una`.
    fack: SeqNumber,
    /// Bytes below `fack` that are neither SACKed nor marked lost; by FACK they have left the network.
    unmarked: u32,
    /// The first retransmission of the episode is not sent yet.
    first_pending: bool,
}

impl Fack {
    fn update(&mut self, b: &dyn ScoreboardView, v: &SenderView) {
        self.marked_to = if self.initialized { self.marked_to.max(v.snd_una) } else { v.snd_una };
        self.initialized = true;
        self.fack = b.sacked().last().map_or(v.snd_una, |range| range.end);
        self.without_sack.duplicates.update(v);
    }

    /// Marks what is to be retransmitted; returns true when the first outstanding byte is marked. `all`:
    /// without a threshold for each hole, everything below `fack`.
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

    /// Enough duplicates, or as many as can be elicited (RFC 5827).
    fn are_enough(&self, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        v.dup_acks >= self.without_sack.duplicates.dup_thresh() || self.without_sack.duplicates.are_all(b, v)
    }

    /// M-A7: enough duplicates, or a forward-most SACK as far ahead.
    fn is_lost(&self, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        let dup_thresh = self.without_sack.duplicates.dup_thresh();
        self.are_enough(b, v)
            || u64::from(self.fack.min(v.data_end).bytes_since(v.snd_una))
                > u64::from(dup_thresh) * u64::from(v.smss)
    }

    fn in_flight(&self, v: &SenderView) -> Bytes {
        v.pipe.saturating_sub(u64::from(self.unmarked))
    }

    fn process_ack(
        &mut self,
        a: &AckInfo,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Phase {
        let dup_thresh = self.without_sack.duplicates.dup_thresh();
        match v.phase {
            Phase::Loss if !is_over(v) => {
                self.repair.find(dup_thresh, b, v, lost);
                return Phase::Loss;
            }
            Phase::Recovery if !is_over(v) => {
                self.repair.count(a, self.fack, v);
                self.mark(true, b, v, lost);
                self.force_first(lost);
                self.repair.find(dup_thresh, b, v, lost);
                return Phase::Recovery;
            }
            Phase::Recovery => {
                self.repair.count(a, self.fack, v);
                self.repair.close();
                // The next ack may open another episode.
                return if b.sacked().is_empty() { phase_outside_repair(v) } else { Phase::Disorder };
            }
            Phase::Loss => self.repair.close(),
            _ => {}
        }
        if b.sacked().is_empty() && v.dup_acks == 0 {
            self.repair.stop();
            return phase_outside_repair(v);
        }
        self.repair.suspect(a, self.fack, v);
        if !self.is_lost(b, v) && !self.mark(false, b, v, lost) {
            return if phase_outside_repair(v) == Phase::Open {
                Phase::Disorder
            } else {
                phase_outside_repair(v)
            };
        }
        if !self.mark(true, b, v, lost) && self.are_enough(b, v) {
            mark_first(b, v, lost);
            self.marked_to = lost.last().map_or(self.marked_to, |first| first.end);
        }
        self.repair.open(v);
        self.first_pending = !self.repair.is_gradual();
        self.force_first(lost);
        Phase::Recovery
    }

    /// The first retransmission is sent even if the window is full (RFC 5681 §3.2 step 3); with rate-halving
    /// it waits for its turn.
    fn force_first(&mut self, lost: &[SeqRange]) {
        if self.first_pending && !lost.is_empty() {
            self.first_pending = false;
            self.without_sack.duplicates.force_next();
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
        self.update(b, v);
        let phase = self.process_ack(a, b, v, lost);
        self.unmarked = unreported(b.sacked(), self.marked_to);
        phase
    }

    fn adjust(&mut self, v: &SenderView) -> Adjustment {
        self.repair.adjust(self.in_flight(v), v)
    }

    fn on_rto(&mut self, b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) {
        self.without_sack.on_rto(b, v, lost);
        self.repair.restart(v);
        if v.expiries <= 1 {
            self.marked_before = if self.initialized { self.marked_to } else { v.snd_una };
        }
        (self.initialized, self.marked_to, self.fack, self.unmarked) = (true, v.snd_nxt, v.snd_una, 0);
    }

    fn next_seg(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
        lost_or_new(b, v)
    }

    fn on_retransmit(&mut self, sent: SeqRange, v: &SenderView) {
        self.without_sack.on_retransmit(sent, v);
        self.repair.note(sent, v);
    }

    fn quota(&mut self, v: &SenderView) -> Bytes {
        if !v.sack {
            return self.without_sack.quota(v);
        }
        let in_flight = self.in_flight(v);
        let halved = self.repair.quota(in_flight, v);
        halved.unwrap_or_else(|| self.without_sack.duplicates.quota(&SenderView { pipe: in_flight, ..*v }))
    }

    fn on_undo(&mut self, v: &SenderView) {
        self.without_sack.on_undo(v);
        self.repair.restart(v);
        self.marked_to = self.marked_before.max(v.snd_una);
    }
}

/// Forward acknowledgment and rate-halving.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "fack",
    about: "Forward acknowledgment: SACK-based recovery that assumes that everything below the forward-most \
            SACK has left the network; acts as `newreno` without SACK.",
    source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A7, M-A8, M-A9, M-A10, M-A11); FACK as commonly defined",
    params: &[
        DUP_THRESH,
        LIMITED_TRANSMIT,
        EARLY_RETRANSMIT,
        ADJUSTMENT,
        Param::flag(
            "each_hole",
            true,
            // M-A9
            "retransmit a hole only when `dup_thresh` segments above it are SACKed, rather than \
             everything below the forward-most SACK once one loss is certain",
        ),
        lost_retransmissions("reduce"),
        BOUNDS,
        WHOLE_SEGS,
    ],
    build: |p| {
        Box::new(Fack {
            without_sack: NewReno::counting(p, true),
            repair: SackRepair::new(p),
            each_hole: p.flag("each_hole"),
            initialized: false,
            marked_to: SeqNumber(0),
            marked_before: SeqNumber(0),
            fack: SeqNumber(0),
            unmarked: 0,
            first_pending: false,
        })
    },
};
