use ackclock_units::Duration;

use crate::{Param, Params};

/// The time between packets, its bounds, and what congestion does to it.
///
/// In real seconds, since rounding to nanoseconds would add up over many packets: 1/I has to grow by a
/// constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    now: f64,
    min: f64,
    max: f64,
    decrease: f64,
}

impl Interval {
    /// Reads [`INITIAL`], [`MIN`], [`MAX`] and [`DECREASE`].
    pub fn new(p: &Params) -> Self {
        let seconds = |name| p.duration(name).as_secs_f64();
        let (min, max) = (seconds("min_interval"), seconds("max_interval"));
        let mut i = Self { now: seconds("interval"), min, max, decrease: p.ratio("decrease") };
        i.set(i.now);
        i
    }

    /// Seconds.
    pub fn get(self) -> f64 {
        self.now
    }

    /// Rounded to whole nanoseconds.
    pub fn duration(self) -> Duration {
        Duration::from_nanos((self.now * 1e9 + 0.5) as u64)
    }

    /// Sets it, within the bounds; where they cross, the lower one applies.
    pub fn set(&mut self, to: f64) {
        self.now = to.min(self.max).max(self.min);
    }

    /// J-A15: congestion doubles the interval.
    pub fn stretch(&mut self) {
        self.set(self.now * self.decrease);
    }
}

const HOUR: Duration = Duration::from_secs(3600);
const MICROSECOND: Duration = Duration::from_micros(1);

pub(super) const INITIAL: Param =
    Param::duration("interval", Duration::from_secs(1), MICROSECOND..=HOUR, "initial time between packets");
pub(super) const DECREASE: Param = Param::ratio(
    "decrease",
    2.0,
    1.0..=64.0,
    // J-A15
    "factor by which congestion multiplies the interval; the paper halves the rate",
);
pub(super) const MIN: Param =
    Param::duration("min_interval", MICROSECOND, MICROSECOND..=HOUR, "shortest interval");
pub(super) const MAX: Param = Param::duration("max_interval", HOUR, MICROSECOND..=HOUR, "longest interval");
