use std::time::{SystemTime, UNIX_EPOCH};

use ackclock_units::{Duration, Instant};

/// A real clock: monotonic time since its start, and the time of day of its start.
///
/// Emulator, stacks and captures of one run share a clock, so that their times can be compared.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: std::time::Instant,
    unix_ns: u64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            started: std::time::Instant::now(),
            unix_ns: u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    /// A clock that starts in a while. Until then it stands at zero, so that what is set up before does not count.
    pub fn starting_in(lead: Duration) -> Self {
        let Self { started, unix_ns } = Self::start();
        let lead = lead.as_nanos();
        Self {
            started: started + std::time::Duration::from_nanos(lead),
            unix_ns: unix_ns.saturating_add(lead),
        }
    }

    /// Sleeps until the start.
    #[cfg(target_os = "linux")]
    pub(crate) fn wait_for_start(&self) {
        std::thread::sleep(self.started.saturating_duration_since(std::time::Instant::now()));
    }

    /// The time since the start.
    pub fn now(&self) -> Instant {
        // 584 years fit.
        Instant::from_nanos(self.started.elapsed().as_nanos() as u64)
    }

    /// Its start on the system's monotonic clock, ns.
    #[cfg(target_os = "linux")]
    pub(crate) fn monotonic_start(&self) -> u64 {
        let (now, ahead) =
            (std::time::Instant::now(), rustix::time::clock_gettime(rustix::time::ClockId::Monotonic));
        let ns = ahead.tv_sec as u64 * 1_000_000_000 + ahead.tv_nsec as u64;
        let until = self.started.saturating_duration_since(now).as_nanos() as u64;
        let since = now.saturating_duration_since(self.started).as_nanos() as u64;
        (ns + until).saturating_sub(since)
    }

    /// Converts to time of day, nanoseconds since 1970 (for captures).
    pub fn unix_nanos(&self, at: Instant) -> u64 {
        self.unix_ns.saturating_add(at.as_nanos())
    }

    /// Converts from time of day, nanoseconds since 1970; times before the start become the start.
    pub fn at_unix(&self, ns: u64) -> Instant {
        Instant::from_nanos(ns.saturating_sub(self.unix_ns))
    }

    /// Time left until `at`; zero if it has passed.
    pub fn until(&self, at: Instant) -> Duration {
        let before = self.started.saturating_duration_since(std::time::Instant::now());
        at.since(self.now()) + Duration::from_nanos(before.as_nanos() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_its_start_it_stands_at_zero_and_waits_for_it() {
        let lead = Duration::from_secs(3600);
        let clock = Clock::starting_in(lead);
        assert_eq!(clock.now(), Instant::ZERO);
        let left = clock.until(Instant::ZERO + Duration::from_secs(1));
        assert!(left > lead && left <= lead + Duration::from_secs(1), "{left:?}");
    }

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
