use ackclock_units::{Duration, Instant};

use crate::Spread;

/// How much later than the soonest one packets came, by their sender's clock: how long they waited on their
/// way.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    /// The times by which they were late.
    pub spread: Spread,
    /// When the current window began, and its first packets' least difference between the two clocks, ns.
    began: Option<Instant>,
    least: i128,
    /// The least difference in the window before.
    before: Option<i128>,
    /// The tick by which packets were due.
    tick: Duration,
}

/// The soonest packet of this time and of as much before it counts: clocks that differ by 100 millionths
/// part by 12 ms in that.
const WINDOW: Duration = Duration::from_secs(60);

impl Lateness {
    /// Takes a packet that came at `at` and was due at `due`, by a clock with this tick.
    pub(crate) fn add(&mut self, at: Instant, due: Instant, tick: Duration) {
        if tick != self.tick {
            *self = Self { tick, ..Self::default() };
        }
        let apart = i128::from(at.as_nanos()) - i128::from(due.as_nanos());
        match self.began {
            Some(began) if at.since(began) < WINDOW => self.least = self.least.min(apart),
            Some(_) => (self.began, self.before, self.least) = (Some(at), Some(self.least), apart),
            None => (self.began, self.least) = (Some(at), apart),
        }
        let soonest = self.before.map_or(self.least, |before| before.min(self.least));
        self.spread.add(Duration::from_nanos(u64::try_from(apart - soonest).unwrap_or(0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_runs_fast_makes_no_delay() {
        let mut late = Lateness::default();
        for s in 0..36_000_u64 {
            let queued = if s % 10 == 0 { 50_000_000 } else { 0 };
            let at = Instant::from_nanos(s * 100_000_000 + queued);
            late.add(at, Instant::from_nanos(s * 100_000_000 - s * 10_000), Duration::from_millis(1));
        }
        let median = late.spread.quantile(0.5).unwrap();
        assert!(median < Duration::from_millis(13), "{median:?}");
        let high = late.spread.quantile(0.99).unwrap();
        assert!(high >= Duration::from_millis(49) && high < Duration::from_millis(64), "{high:?}");
    }
}
