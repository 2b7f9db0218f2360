//! A rate limit.

use ackclock_units::{Duration, Instant};

/// A number of events per second, with a burst of as many after a silence: the generic cell rate algorithm.
#[derive(Debug)]
pub(super) struct RateLimit {
    /// Interval between events; `None` to allow none.
    interval: Option<Duration>,
    /// Theoretical arrival time of the next event.
    due: Instant,
}

/// Size of a burst, as a time.
const BURST: Duration = Duration::from_secs(1);

impl RateLimit {
    pub(super) fn per_second(n: u32) -> Self {
        Self {
            interval: (n > 0).then(|| Duration::from_nanos(1_000_000_000 / u64::from(n))),
            due: Instant::ZERO,
        }
    }

    /// Returns whether another event is allowed now, and counts it if so.
    pub(super) fn allows(&mut self, now: Instant) -> bool {
        let Some(interval) = self.interval else { return false };
        let due = self.due.max(now) + interval;
        let allowed = due <= now + BURST;
        if allowed {
            self.due = due;
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_per_second_are_limited() {
        let mut rate = RateLimit::per_second(100);
        let mut at = Instant::from_nanos(5_000_000_000);
        let mut many = |at| (0..1000).filter(|_| rate.allows(at)).count();
        assert_eq!((many(at), many(at)), (100, 0));
        at += Duration::from_millis(250);
        assert_eq!(many(at), 25);
        assert_eq!(many(at + Duration::from_secs(100)), 100);
        assert!(!RateLimit::per_second(0).allows(at));
    }
}
