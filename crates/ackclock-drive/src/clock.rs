use std::time::{SystemTime, UNIX_EPOCH};

use ackclock_units::{Duration, Instant};

/// The real clock: monotonic time since it was started, and the time of day at which that was.
///
/// Everything of one run (emulator, stacks, captures) shares one, so that their times compare.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: std::time::Instant,
    unix_ns: u64,
}

impl Clock {
    /// Starts now.
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            started: std::time::Instant::now(),
            unix_ns: u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    /// The present moment.
    pub fn now(&self) -> Instant {
        // 584 years fit.
        Instant::from_nanos(self.started.elapsed().as_nanos() as u64)
    }

    /// The time of day at `at`, nanoseconds since 1970 (for captures).
    pub fn unix_nanos(&self, at: Instant) -> u64 {
        self.unix_ns.saturating_add(at.as_nanos())
    }

    /// The moment that a time of day, in nanoseconds since 1970, is; the start for those before.
    pub fn at_unix(&self, ns: u64) -> Instant {
        Instant::from_nanos(ns.saturating_sub(self.unix_ns))
    }

    /// Time left until `at`; zero once it has come.
    pub fn until(&self, at: Instant) -> Duration {
        at.since(self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_advances_and_never_goes_back() {
        let clock = Clock::start();
        let a = clock.now();
        let b = clock.now();
        assert!(a <= b);
        assert_eq!(clock.until(Instant::ZERO), Duration::ZERO);
        assert!(clock.unix_nanos(b) >= clock.unix_nanos(a));
        assert_eq!((clock.at_unix(clock.unix_nanos(b)), clock.at_unix(0)), (b, Instant::ZERO));
    }
}
