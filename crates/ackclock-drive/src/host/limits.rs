//! How often something may happen.

use ackclock_units::{Duration, Instant};

/// So many per second, and as many at once after a silence: the generic cell rate algorithm.
#[derive(Debug)]
pub(super) struct RateLimit {
    /// Between two; `None` when there are none at all.
    interval: Option<Duration>,
    /// When all that has happened would have been due.
    due: Instant,
}

/// What may be made up for after a silence.
const BURST: Duration = Duration::from_secs(1);

impl RateLimit {
    pub(super) fn per_second(n: u32) -> Self {
        Self {
            interval: (n > 0).then(|| Duration::from_nanos(1_000_000_000 / u64::from(n))),
            due: Instant::ZERO,
        }
    }

    /// True when one more may happen now; it counts.
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
    fn a_second_holds_so_many() {
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
