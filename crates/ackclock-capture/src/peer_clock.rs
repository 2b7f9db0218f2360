//! The clock behind a peer's timestamps (RFC 7323), from which the send times of its segments are derived.

use ackclock_units::{Duration, Instant};

use crate::thresholds::THRESHOLDS;

/// Estimates the clock of one end's timestamps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerClock {
    /// The first timestamp and when it was seen; then the one with the least delay since, by the current
    /// tick.
    first: Option<(u32, Instant)>,
    soonest: Option<(u32, Instant)>,
    tick: u64,
    /// The time from the first timestamp to the latest estimate of the tick, and that estimate.
    looked: Duration,
    found: u64,
}

/// Ticks in use, ns: a millisecond (Linux, Windows), a microsecond, 4 ms, 10 ms (older systems), a tenth of a
/// second (older Windows), half a second.
const TICKS: [u64; 6] = [1_000_000, 1_000, 4_000_000, 10_000_000, 100_000_000, 500_000_000];
/// Timestamps farther apart are not from one clock.
const FARTHEST: u32 = 1 << 30;

impl PeerClock {
    /// Takes the timestamp of a segment, and returns when it would have been seen with the least delay.
    pub(crate) fn note(&mut self, tsval: u32, at: Instant) -> Option<Instant> {
        let &mut (first, since) = self.first.get_or_insert((tsval, at));
        let ticks = tsval.wrapping_sub(first);
        if self.soonest.is_none() {
            (self.soonest, self.tick) = (Some((tsval, at)), TICKS[0]);
        }
        if ticks == 0 || ticks > FARTHEST {
            return self.sent_by(tsval);
        }
        let long = at.since(since);
        if long > THRESHOLDS.clock.long && long >= self.looked * 2 {
            self.looked = long;
            let per_tick = long.as_nanos() as f64 / f64::from(ticks);
            let off = |tick: &u64| (per_tick / *tick as f64).ln().abs();
            let tick = TICKS.into_iter().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(TICKS[0]);
            // A delay makes ticks look longer than they are, but less so over twice the time. Two estimates
            // in a row that are much longer than the current tick exclude it.
            if tick != self.tick
                && (tick == self.found || tick.min(self.found) >= self.tick * THRESHOLDS.clock.much)
            {
                (self.soonest, self.tick) = (Some((tsval, at)), tick);
            }
            self.found = tick;
        }
        let usual = self.sent_by(tsval).filter(|usual| *usual <= at);
        if usual.is_none() {
            self.soonest = Some((tsval, at));
        }
        usual.or(Some(at))
    }

    /// When a segment with this timestamp would have been seen with the least delay, to within a tick.
    pub(crate) fn sent_by(&self, tsval: u32) -> Option<Instant> {
        self.after(self.soonest?, tsval)
    }

    /// The same as if the first segment had had no delay. It changes only with the tick.
    pub(crate) fn due_by_first(&self, tsval: u32) -> Option<Instant> {
        self.after(self.first?, tsval)
    }

    /// When the clock showed `tsval`, if it showed `base` at `at`.
    fn after(&self, (base, at): (u32, Instant), tsval: u32) -> Option<Instant> {
        // Below 2^31 ticks of half a second at most: no overflow.
        let since = i64::from(tsval.wrapping_sub(base) as i32) * self.tick as i64;
        at.as_nanos().checked_add_signed(since).map(Instant::from_nanos)
    }

    /// The length of a tick.
    pub(crate) fn tick(&self) -> Duration {
        Duration::from_nanos(self.tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_shows_as_the_difference_to_the_least() {
        for (tick, scale) in [(1_000_000_u64, 1_u64), (4_000_000, 4), (10_000_000, 10), (100_000_000, 100)] {
            let mut clock = PeerClock::default();
            let ms = |n: u64| Instant::from_nanos(n * 1_000_000);
            // 5 ms of delay at the least, 25 ms now and then; the counter wraps.
            let stamp = |n: u64| (u64::from(u32::MAX - 20) + n / scale) as u32;
            for n in (0..4000).step_by(20) {
                clock.note(stamp(n), ms(n + if n % 60 == 0 { 25 } else { 5 }));
            }
            assert_eq!(clock.tick(), Duration::from_nanos(tick));
            let seen = clock.sent_by(stamp(2000)).unwrap();
            assert!(seen <= ms(2005) && ms(2005).since(seen) <= clock.tick(), "{seen:?}");
        }
        assert_eq!(PeerClock::default().sent_by(7), None);
    }

    #[test]
    fn a_clock_that_ticks_ten_times_a_second_is_known_after_a_few_ticks() {
        // As Windows 2000 has it, over a queue that fills: the second look finds 101 ms, the first one 270
        // ms.
        let mut clock = PeerClock::default();
        for (tsval, ms) in [(98, 40), (99, 450), (100, 580), (101, 970), (123, 2580)] {
            clock.note(tsval, Instant::from_nanos(ms * 1_000_000));
        }
        assert_eq!(clock.tick(), Duration::from_millis(100));
    }

    #[test]
    fn a_delay_does_not_make_ticks_longer() {
        let mut clock = PeerClock::default();
        let ms = |n: u64| Instant::from_nanos(n * 1_000_000);
        clock.note(1, ms(1));
        clock.note(50, ms(50));
        // All that was sent in 600 ms comes at once.
        for n in (60..650).step_by(10) {
            clock.note(n, ms(660));
        }
        assert_eq!((clock.tick(), clock.sent_by(400)), (Duration::from_millis(1), Some(ms(400))));
    }
}
