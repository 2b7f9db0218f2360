//! One timer simulated for a sender.

use ackclock_policy::{
    Backoff, RetransmissionTimer, RttEstimator, TimerAction, TimerEvent, TimerView, Timing,
};
use ackclock_units::{Duration, Instant, Rng};

use super::stall::{Advance, Mark, TICK, on_wheel, view};

/// A timer simulated for a sender.
#[derive(Debug)]
pub(super) struct Follower {
    pub estimator: Box<dyn RttEstimator>,
    pub backoff: Box<dyn Backoff>,
    pub timer: Box<dyn RetransmissionTimer>,
    /// It is Linux's.
    pub linux: bool,
    /// When it would fire; never while nothing is outstanding.
    pub deadline: Instant,
    /// When it last fired.
    pub restarted_at: Instant,
    /// Level of its backoff, which lasts until a valid sample (Karn, RFC 6298 §5.5 to 5.7).
    pub backed_off: u32,
    /// Expiries while the ack of what was sent once was under way.
    pub spurious: u64,
    pub rounds: u32,
    /// It did not expire when the sender's own timer fired spuriously: what the sender's recovery repaired
    /// then is not repaired here.
    pub unrepaired: bool,
    /// When it last fired spuriously: what had been sent by then is retransmitted as acks arrive (go-back-N),
    /// before any timeout.
    pub resends: Instant,
}

impl Follower {
    /// `None` if `timing` has no estimator.
    pub fn new(timing: &Timing) -> Option<Self> {
        Some(Self {
            estimator: timing.estimator.as_ref()?.build(),
            backoff: timing.backoff.build(),
            timer: timing.timer.build(),
            linux: timing.is_linux(),
            deadline: Instant::FAR_FUTURE,
            restarted_at: Instant::ZERO,
            backed_off: 0,
            spurious: 0,
            rounds: 0,
            unrepaired: false,
            resends: Instant::ZERO,
        })
    }

    /// Its state when a stall ends; `syn` if that is one of a SYN.
    pub fn mark(&self, syn: bool) -> Mark {
        Mark {
            deadline: self.deadline,
            rto: if syn { self.estimator.initial_rto() } else { self.estimator.rto() },
            backed_off: self.backed_off,
            unrepaired: self.unrepaired,
            resends: self.resends,
        }
    }

    pub fn timeout(&mut self, syn: bool, backed_off: u32, rng: &mut Rng) -> Duration {
        if syn {
            self.backoff.syn_timeout(self.estimator.initial_rto(), backed_off, rng)
        } else {
            self.backoff.timeout(self.estimator.rto(), backed_off, rng)
        }
    }

    /// The deadline after an event, by the timer's rule. `v` is the sender's state without the deadline.
    pub fn next_deadline(&mut self, e: TimerEvent, timeout: Duration, v: &mut TimerView) -> Instant {
        v.deadline = (self.deadline != Instant::FAR_FUTURE).then_some(self.deadline);
        v.restarted_at = self.restarted_at;
        if e == TimerEvent::Expired {
            self.restarted_at = v.now;
        }
        match self.timer.on(e, timeout, v) {
            TimerAction::Keep => self.deadline,
            TimerAction::Arm(at) => on_wheel(self.linux, v.now, at.max(v.now)),
            TimerAction::Disarm => Instant::FAR_FUTURE,
        }
    }

    /// Fires as often as it would have before the ack; once at least where it was about to, and the
    /// sender's own timer was quicker.
    pub fn expire(&mut self, a: &Advance, once: bool, rng: &Rng) {
        let mut round = 0;
        while self.deadline < a.heard && round < MOST_ROUNDS {
            self.backed_off = a.flight.level(&*self.backoff, a.syn, round, self.backed_off);
            round += 1;
            self.estimator.on_expiry(round);
            let timeout = self.timeout(a.syn, self.backed_off, &mut rng.clone());
            let mut v = view(self.deadline, Some(a.head.first));
            self.deadline =
                self.next_deadline(TimerEvent::Expired, timeout, &mut v).max(self.deadline + TICK);
        }
        if once && round > 0 {
            self.rounds = self.rounds.max(round);
            self.spurious += u64::from(round);
            self.resends = a.heard;
        }
        if round > 0 && (once || a.last_spurious) {
            self.estimator.on_spurious_timeout();
        } else if round == 0 && !a.last_spurious {
            // Slower than the sender's own: it would have expired after this ack, which its own
            // retransmission would have brought.
            self.backed_off = a.flight.level(&*self.backoff, a.syn, 0, self.backed_off);
            self.estimator.on_expiry(1);
        }
        if a.syn {
            self.backed_off = 0;
        }
    }
}

/// Expiries for one ack that are followed while reading.
const MOST_ROUNDS: u32 = 64;
