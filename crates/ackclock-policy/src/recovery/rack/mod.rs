mod detect;
mod min_rtt;
mod quic;
mod retransmitted;
mod tail;

use ackclock_units::{Bytes, Duration, Instant, SeqRange};

use self::detect::{Detection, LINUX, MIN_RTT_SPAN, PERSIST};
use self::quic::THRESHOLDS;
use self::tail::{MAX_ACK_DELAY, PTO_MARGIN, SAMPLE_BEFORE_PROBE, TLP, Tail};
use super::bounded::{BOUNDED, Bounded};
use super::counting::Counting;
use super::duplicates::{DUP_THRESH, LIMITED_TRANSMIT};
use super::early::EARLY_RETRANSMIT;
use super::episode::{is_over, lost_or_new, new_data, phase_outside_repair};
use super::newreno::NewReno;
use crate::{
    AckInfo, Adjustment, DeadlineAction, Entry, LossRecovery, Phase, Policy, PrivateState, ScoreboardView,
    SenderView,
};

/// RACK-TLP (RFC 8985): losses are detected by time, and tail loss probes elicit acks for the tail of a
/// flight. Retransmissions and the reduction of the window are those of other SACK-based recoveries (RFC 6675
/// §5).
#[derive(Debug)]
struct Rack {
    /// Also forces the first retransmission where there is SACK.
    without_sack: Counting<NewReno>,
    state: Box<State>,
}

#[derive(Debug)]
struct State {
    detection: Detection,
    tail: Tail,
    timer: Option<Timer>,
    /// Without SACK, no more duplicate acks are counted than can arrive.
    bounded: Option<Bounded>,
    /// Another recovery begins with this ack, since the one that it ends leaves segments that were lost.
    begins_another: bool,
    /// The last ack lets new data go, and no retransmission: see [`Detection::sends_only_new`].
    only_new: bool,
    /// A probe has repaired a loss; what was outstanding when it was sent.
    repaired: Option<Bytes>,
}

/// The pending timer, one of two kinds (RFC 8985 §8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Timer {
    /// Until then a segment sent before the latest delivered one may still arrive.
    Reordering(Instant),
    /// A tail loss probe is sent then.
    Probe(Instant),
}

impl State {
    /// Marks lost segments and sets the reordering timer (RACK_detect_loss_and_arm_timer()).
    fn detect(&mut self, repairing: bool, b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) {
        let until = self.detection.detect(b, v, repairing, lost);
        self.timer = match (until, self.timer) {
            (Some(at), _) if at > v.now => Some(Timer::Reordering(at + self.tail.margin())),
            (Some(at), _) => Some(Timer::Reordering(at)),
            (None, Some(Timer::Probe(at))) if self.tail.keeps(repairing, b, v) => Some(Timer::Probe(at)),
            _ => None,
        };
    }
}

impl Rack {
    /// The phase if something was marked lost: a new episode, or the current one unless that `reopens`.
    fn open(&mut self, found: bool, reopens: bool, v: &SenderView) -> Option<Phase> {
        if !found {
            return None;
        }
        if repairing(v) && !reopens {
            return Some(v.phase);
        }
        self.without_sack.duplicates.force_next();
        self.state.tail.forget();
        self.state.repaired = None;
        Some(Phase::Recovery)
    }
}

/// True from the beginning of an episode until everything outstanding then is acknowledged.
fn repairing(v: &SenderView) -> bool {
    matches!(v.phase, Phase::Recovery | Phase::Loss) && !is_over(v)
}

impl Policy for Rack {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        self.state.detection.private_state(state);
    }
}

impl LossRecovery for Rack {
    fn on_ack(
        &mut self,
        a: &AckInfo,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Phase {
        if !v.sack {
            let dup_thresh = self.without_sack.duplicates.dup_thresh();
            let counted = self.state.bounded.as_mut().map(|bounded| bounded.on_ack(a, b, v, dup_thresh));
            let v = SenderView { dup_acks: counted.unwrap_or(v.dup_acks), ..*v };
            if self.state.detection.is_linux() && a.acks_original && v.phase != Phase::Recovery {
                self.without_sack.duplicates.undo_recovery();
            }
            return self.without_sack.on_ack(a, b, &v, lost);
        }
        let (state, repairing) = (&mut *self.state, repairing(v));
        state.begins_another = false;
        state.only_new = state.detection.sends_only_new(a, v);
        let over = matches!(v.phase, Phase::Recovery | Phase::Loss) && !repairing;
        state.detection.process_ack(a, b, v, over);
        state.repaired = state.tail.process_ack(a, v);
        if a.reneged {
            // Nothing is known to be lost until the receiver has had time to report it again.
            state.timer = None;
            return v.phase;
        }
        let before = lost.len();
        let disorder = state.detection.keeps_disorder(a, b, v);
        let ends = over && v.phase == Phase::Recovery;
        let leaves_lost = state.detection.leaves_lost(a, b, v, ends);
        if state.detection.examines(a, v) {
            state.detect(repairing, b, v, lost);
        } else if a.newly_acked > 0 && matches!(state.timer, Some(Timer::Reordering(_))) {
            // Its timer gives way to that of the retransmission, which the ack restarts (`tcp_set_xmit_timer`).
            state.timer = None;
        }
        if repairing {
            let reopens = v.phase == Phase::Loss && state.detection.reopens(false);
            return self.open(reopens, reopens, v).unwrap_or(v.phase);
        }
        let begins = leaves_lost || lost.len() > before;
        state.begins_another = ends && begins;
        let outside = match phase_outside_repair(v) {
            Phase::Open if disorder || !b.sacked().is_empty() => Phase::Disorder,
            phase => phase,
        };
        match self.open(begins, false, v) {
            Some(phase) if !self.state.begins_another => phase,
            _ => outside,
        }
    }

    fn begins_another(&mut self) -> bool {
        std::mem::take(&mut self.state.begins_another)
    }

    fn adjust(&mut self, _v: &SenderView) -> Adjustment {
        self.state
            .repaired
            .take()
            .map_or(Adjustment::Keep, |flight_size| Adjustment::RepairedByProbe { flight_size })
    }

    fn on_rto(&mut self, b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) {
        if !v.sack {
            self.state.bounded.iter_mut().for_each(Bounded::forget);
            return self.without_sack.on_rto(b, v, lost);
        }
        self.without_sack.duplicates.expired(v);
        // The first segment is retransmitted whatever else counts as in the network (RFC 6298 §5.4).
        self.without_sack.duplicates.force_next();
        self.state.detection.expired(b, v, lost);
        self.state.tail.forget();
        (self.state.timer, self.state.repaired, self.state.only_new) = (None, None, false);
    }

    fn is_time_based(&self) -> bool {
        true
    }

    fn shares_timer(&self) -> bool {
        self.state.tail.rearms()
    }

    fn grows_out_of_order(&self) -> bool {
        self.state.detection.grows_out_of_order()
    }

    fn update_deadline(&mut self, b: &dyn ScoreboardView, v: &SenderView, sent: Option<Duration>) {
        let state = &mut *self.state;
        let probed = state.tail.on_new_data(v);
        let watches = v.sack && !probed && state.tail.is_watching(b, v);
        let replaces = watches && sent.is_some() && state.tail.replaces_reordering_timer();
        if matches!(state.timer, Some(Timer::Reordering(_))) && !replaces {
            return;
        }
        let pto = if watches { state.tail.pto(b, v, sent) } else { None };
        state.timer = pto.map(Timer::Probe);
    }

    fn deadline(&self) -> Option<Instant> {
        self.state.timer.map(|(Timer::Reordering(at) | Timer::Probe(at))| at)
    }

    fn on_deadline(
        &mut self,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> DeadlineAction {
        let (mut probe, mut rearms, mut repairs_only) = (None, false, false);
        self.state.only_new = false;
        match self.state.timer.take() {
            Some(Timer::Reordering(_)) => {
                self.state.detect(repairing(v), b, v, lost);
                // tcp_rack_reo_timeout
                rearms = self.state.tail.rearms();
                repairs_only = self.state.detection.is_linux();
            }
            Some(Timer::Probe(_)) => {
                probe = self.state.tail.probe(b, v);
                self.state.detection.note_probe(probe.filter(|range| range.start < v.snd_nxt));
                rearms = probe.is_none() && self.state.tail.rearms();
            }
            None => {}
        }
        let reopens = v.phase == Phase::Loss && self.state.detection.reopens(true);
        DeadlineAction {
            phase: self.open(!lost.is_empty(), reopens, v).unwrap_or(v.phase),
            probe,
            rearms,
            repairs_only,
        }
    }

    fn next_seg(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
        if self.state.only_new { new_data(v) } else { lost_or_new(b, v) }
    }

    fn on_retransmit(&mut self, sent: SeqRange, v: &SenderView) {
        self.without_sack.on_retransmit(sent, v);
        self.state.detection.on_retransmit(sent, v);
    }

    fn quota(&mut self, v: &SenderView) -> Bytes {
        // Retransmissions that are due now go before new data: of segments sent at one moment, the higher
        // number counts as later (RFC 8985 §6.2). A timer that is late, on a coarse clock, holds nothing back.
        if matches!(self.state.timer, Some(Timer::Reordering(at)) if at == v.now) {
            return 0;
        }
        // As in RFC 6675 §5 step 3: in Disorder only `pipe` limits, when Limited Transmit is on.
        if v.sack && v.phase == Phase::Disorder && self.without_sack.duplicates.limited_transmit() {
            return v.room();
        }
        self.without_sack.duplicates.quota(v)
    }

    fn on_undo(&mut self, v: &SenderView) {
        self.without_sack.on_undo(v);
        self.state.detection.undo(v);
        self.state.timer = None;
    }
}

/// RACK-TLP.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "rack",
    about: "RACK-TLP (RFC 8985): a segment is lost when one sent later was delivered and the reordering \
            window has passed; tail loss probes are sent before the retransmission timer expires; acts as \
            `newreno` without SACK.",
    source: "Mondal & Kuzmanovic 2007 (I-A9); RFC 8985; RFC 9002 6.1",
    params: &[
        DUP_THRESH,
        LIMITED_TRANSMIT,
        EARLY_RETRANSMIT,
        THRESHOLDS,
        PERSIST,
        LINUX,
        MIN_RTT_SPAN,
        TLP,
        MAX_ACK_DELAY,
        PTO_MARGIN,
        SAMPLE_BEFORE_PROBE,
        BOUNDED,
    ],
    build: |p| {
        let (detection, tail, bounded) = (Detection::new(p), Tail::new(p), Bounded::new(p));
        let state = State {
            detection,
            tail,
            timer: None,
            bounded,
            begins_another: false,
            only_new: false,
            repaired: None,
        };
        Box::new(Rack { without_sack: NewReno::counting(p, true), state: Box::new(state) })
    },
};

#[cfg(test)]
mod distance_tests;
#[cfg(test)]
mod tests;
