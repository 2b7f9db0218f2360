use ackclock_policy::{Backoff, RetransmissionTimer, TimerAction, TimerEvent, Timing};
use ackclock_units::{Duration, Instant, Rng};

use super::stall::{Flight, Mark, TICK, on_wheel, rng, view};
use crate::thresholds::THRESHOLDS;

/// The expiries that a timer would have in a row without any ack.
pub(super) struct Attempts {
    backoff: Box<dyn Backoff>,
    timer: Box<dyn RetransmissionTimer>,
    linux: bool,
    mark: Mark,
    first: Instant,
    syn: bool,
    flight: Flight,
    rng: Rng,
}

/// One expiry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Attempt {
    pub at: Instant,
    /// 1 for the first.
    pub round: u64,
    /// Level of the backoff before it.
    level: u32,
}

/// Expiries computed one by one; beyond them, no built-in backoff grows any more.
const FOLLOWED: u64 = 256;

impl Attempts {
    pub fn new(timing: &Timing, mark: Mark, first: Instant, syn: bool, flight: Flight) -> Self {
        Self {
            backoff: timing.backoff.build(),
            timer: timing.timer.build(),
            linux: timing.is_linux(),
            mark,
            first,
            syn,
            flight,
            rng: rng(),
        }
    }

    /// By how much a timer that is the sender's own may seem later: the step of its wheel.
    pub fn step(&self) -> Duration {
        if self.linux { THRESHOLDS.backoff.tick * 8 } else { Duration::ZERO }
    }

    fn first(&self) -> Attempt {
        Attempt { at: self.mark.deadline, round: 1, level: self.mark.backed_off }
    }

    fn after(&mut self, a: Attempt) -> Attempt {
        let expiries = (a.round - 1).min(u64::from(u32::MAX)) as u32;
        let level = self.flight.level(&*self.backoff, self.syn, expiries, a.level);
        let timeout = if self.syn {
            self.backoff.syn_timeout(self.mark.rto, level, &mut self.rng.clone())
        } else {
            self.backoff.timeout(self.mark.rto, level, &mut self.rng.clone())
        };
        let at = match self.timer.on(TimerEvent::Expired, timeout, &view(a.at, Some(self.first))) {
            TimerAction::Arm(at) => at,
            TimerAction::Keep | TimerAction::Disarm => a.at + timeout,
        };
        let at = on_wheel(self.linux, a.at, at);
        Attempt { at: at.max(a.at + TICK), round: a.round + 1, level }
    }

    /// The first expiry at or after `from`.
    pub fn from(&mut self, from: Instant) -> Attempt {
        let mut now = self.first();
        while now.at < from {
            let next = self.after(now);
            let step = next.at.since(now.at).max(Duration::from_nanos(1));
            let more = if now.round < FOLLOWED {
                0
            } else {
                from.since(next.at).as_nanos().div_ceil(step.as_nanos())
            };
            now = Attempt { at: next.at + step.saturating_mul(more), round: next.round + more, ..next };
        }
        now
    }

    /// The `n`-th expiry, or the last that is computed one by one.
    pub fn nth(&mut self, n: u64) -> Attempt {
        let mut now = self.first();
        while now.round < n.min(FOLLOWED) {
            now = self.after(now);
        }
        now
    }

    /// The number of expiries before `to`.
    pub fn before(&mut self, to: Instant) -> u64 {
        self.from(to).round - 1
    }
}
