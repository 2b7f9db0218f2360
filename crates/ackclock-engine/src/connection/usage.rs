//! How much of the congestion window is used, which decides whether it may grow (RFC 7661).

use ackclock_units::{Bytes, Duration, Instant, seldom};

use super::Connection;

/// The largest amount of data outstanding when an ack arrived, within the sampling period. This is the
/// pipeACK variable of RFC 7661 §4.2, the data that the path acknowledges in a round trip (see
/// docs/departures.md).
///
/// What is outstanding only grows between acks, so sampling when they arrive finds the maximum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// Maximum in the current half of the sampling period.
    recent: u32,
    /// Maximum in the previous half.
    before: u32,
    /// End of the current half.
    until: Instant,
}

/// RFC 7661 §4.2: the sampling period is max(3 * RTT, 1 second).
const PERIOD: Duration = Duration::from_secs(1);
const PERIOD_RTTS: u64 = 3;

impl Usage {
    pub(super) const fn new() -> Self {
        Self { recent: 0, before: 0, until: Instant::ZERO }
    }

    fn period_ended(&mut self, now: Instant, half: Duration) {
        // Without acks for a whole half, nothing is known.
        self.before = if now < self.until + half { self.recent } else { 0 };
        (self.recent, self.until) = (0, now + half);
    }

    /// True in the validated phase (RFC 7661 §4.3): at least half of `cwnd` was in use.
    pub(super) fn validates(self, cwnd: Bytes) -> bool {
        2 * u64::from(self.recent.max(self.before)) >= cwnd
    }
}

impl Connection {
    /// Notes the bytes `outstanding` when an ack of new data arrived, or including copies that are sent on
    /// purpose.
    #[inline(always)]
    pub(super) fn note_usage(&mut self, now: Instant, outstanding: u32) {
        if seldom(now >= self.sender.usage.until) {
            self.end_usage_period(now);
        }
        let usage = &mut self.sender.make_mut().usage;
        usage.recent = usage.recent.max(outstanding);
    }

    #[cold]
    fn end_usage_period(&mut self, now: Instant) {
        let srtt = self.estimator.rtt().map_or(Duration::ZERO, |r| r.srtt);
        let half = PERIOD.max(srtt.saturating_mul(PERIOD_RTTS)) / 2;
        self.sender.make_mut().usage.period_ended(now, half);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Duration = Duration::from_millis(500);

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn half_of_the_window_validates_it() {
        let mut usage = Usage::new();
        usage.recent = 5000;
        assert!(usage.validates(10_000) && !usage.validates(10_001));
    }

    #[test]
    fn use_counts_for_a_sampling_period() {
        let mut usage = Usage::new();
        usage.period_ended(ms(0), HALF);
        usage.recent = 5000;
        usage.period_ended(ms(500), HALF);
        usage.recent = 1000;
        assert!(usage.validates(10_000), "the half before");
        usage.period_ended(ms(1000), HALF);
        assert!(!usage.validates(10_000) && usage.validates(2000));
        usage.recent = 5000;
        usage.period_ended(ms(1999), HALF);
        assert!(usage.validates(10_000), "the half before ended late");
        usage.recent = 5000;
        usage.period_ended(ms(2999), HALF);
        assert!(!usage.validates(1), "a whole period without an ack");
    }
}
