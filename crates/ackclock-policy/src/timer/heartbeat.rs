use ackclock_units::{Duration, Instant, mostly};

use crate::Param;

/// The clock of a timer: fine, or free-running with ticks at whole multiples of its period (E-A5).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heartbeat(pub Duration);

impl Heartbeat {
    /// The time from `then` to `now` as a counter of ticks measures it; exact without a heartbeat.
    pub fn ticked(self, then: Instant, now: Instant) -> Duration {
        let period = self.0.as_nanos();
        if period == 0 {
            return now.since(then);
        }
        self.0 * (now.as_nanos() / period - then.as_nanos().min(now.as_nanos()) / period)
    }

    /// When a timer of length `left` that is started at `now` expires. On a heartbeat the length is rounded
    /// up to whole ticks. The very next tick counts, so that `n` ticks last between `n - 1` and `n` periods,
    /// as in BSD.
    pub fn after(self, now: Instant, left: Duration) -> Instant {
        let period = self.0.as_nanos();
        if mostly(period == 0) {
            return now + left;
        }
        let ticks = left.as_nanos().div_ceil(period).max(1);
        Instant::from_nanos((now.as_nanos() / period).saturating_add(ticks).saturating_mul(period))
    }
}

/// The parameter of every timer.
pub(super) const HEARTBEAT: Param = Param::duration(
    "heartbeat",
    Duration::ZERO,
    Duration::ZERO..=Duration::from_secs(10),
    "period of the free-running clock on whose ticks the timer expires (500ms in BSD); 0s for a fine timer",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_counted_when_they_occur() {
        let (clock, at) =
            (Heartbeat(Duration::from_millis(500)), |ms| Instant::ZERO + Duration::from_millis(ms));
        assert_eq!(clock.ticked(at(499), at(500)), Duration::from_millis(500));
        assert_eq!(clock.ticked(at(500), at(999)), Duration::ZERO);
        assert_eq!(clock.ticked(at(250), at(1750)), Duration::from_millis(1500));
        assert_eq!(Heartbeat(Duration::ZERO).ticked(at(499), at(500)), Duration::from_millis(1));
    }

    #[test]
    fn the_next_tick_of_a_heartbeat_counts() {
        let (clock, ms) = (Heartbeat(Duration::from_millis(500)), Duration::from_millis);
        let at = |now, left| clock.after(Instant::ZERO + ms(now), ms(left)).since(Instant::ZERO);
        assert_eq!(at(0, 1000), ms(1000), "two ticks from a tick on: all of them");
        assert_eq!(at(499, 1000), ms(1000), "just before a tick: one period and a bit");
        assert_eq!(at(500, 1001), ms(2000), "rounded up to three ticks");
        assert_eq!(at(250, 0), ms(500), "never before the next tick");
        assert_eq!(Heartbeat(Duration::ZERO).after(Instant::ZERO + ms(250), ms(1)), Instant::ZERO + ms(251));
        assert_eq!(clock.after(Instant::FAR_FUTURE, Duration::MAX), Instant::FAR_FUTURE);
    }
}
