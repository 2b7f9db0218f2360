//! Expiries of retransmission timers, and how late a host's timers are.

use ackclock_units::{Duration, Instant};

/// An expiry of the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expiry {
    /// The packet that it sent.
    pub packet: u64,
    /// When it was sent.
    pub at: Instant,
    /// From the start of the timer, by the stack that followed.
    pub waited: Duration,
    /// The timeout of that stack.
    pub timeout: Duration,
    /// The smoothed round-trip time.
    pub srtt: Duration,
    /// Level of the backoff: 0 for the first timeout in a row.
    pub level: u32,
}

impl Expiry {
    /// What the stack's timeout adds to the smoothed round-trip time, without the backoff.
    pub(crate) fn added(&self) -> Duration {
        (self.timeout / (1 << self.level.min(31))).saturating_sub(self.srtt)
    }

    /// The largest minimum with which the timer may have fired then: it was not sooner than the smoothed round-trip time
    /// and the minimum.
    pub(crate) fn most(&self) -> Duration {
        (self.waited / (1 << self.level.min(31))).saturating_sub(self.srtt) + HOST
    }
}

/// The latest that Linux's timer wheel fires with CONFIG_HZ 250: the timeout is rounded up to ticks of 4 ms, the time
/// left too, and a tick is added; beyond 62 ticks its buckets have eight of them.
const FINE_LATE: Duration = Duration::from_millis(12);
const COARSE_LATE: Duration = Duration::from_millis(40);
pub(crate) const TICK: Duration = Duration::from_millis(4);
const FINE: Duration = Duration::from_millis(248);
/// What a host takes to send.
pub(crate) const HOST: Duration = Duration::from_millis(1);

/// By how much the wheel fires later than `timeout` at the most.
pub(crate) fn latest(timeout: Duration) -> Duration {
    if timeout <= FINE { FINE_LATE } else { COARSE_LATE }
}

/// By how much, in seconds, a timer that was set to `timeout` fired after, or, if negative, before what ticks and
/// the host make of it, if it did after `waited`. The two clocks may differ by a tick.
pub(crate) fn error(waited: Duration, timeout: Duration) -> f64 {
    let latest = timeout + latest(timeout) + HOST;
    let earliest = timeout.saturating_sub(TICK);
    waited.saturating_sub(latest).as_secs_f64() - earliest.saturating_sub(waited).as_secs_f64()
}
