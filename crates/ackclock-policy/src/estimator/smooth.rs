//! Parts shared by several estimators.

use ackclock_units::{Duration, Instant};

use crate::{Param, Params, Rtt};

/// RFC 6298 §5.7: the first timeout of data after a SYN has timed out.
pub(super) const AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// One step of exponential smoothing: `old + gain * (new - old)`, to the nearest nanosecond.
pub(super) fn smooth(old: Duration, new: Duration, gain: f64) -> Duration {
    let (old, new) = (old.as_nanos() as f64, new.as_nanos() as f64);
    // With a gain between 0 and 1 the result lies between two spans, and so below 2^63, where a signed number
    // is the cheaper way to a whole one.
    Duration::from_nanos((old + gain * (new - old) + 0.5) as i64 as u64)
}

/// Smoothed mean and mean deviation after the next sample, each with its gain; the first sample sets the
/// mean, and the deviation to half of it (RFC 6298 §2.2; 4.3BSD's practice, J-A6). The error is taken from
/// the old mean (J-A4).
pub(super) fn mean_and_deviation(old: Option<Rtt>, sample: Duration, g: f64, h: f64) -> Rtt {
    match old {
        None => Rtt { latest: sample, srtt: sample, rttvar: sample / 2, min_rtt: sample },
        Some(old) => Rtt {
            latest: sample,
            srtt: smooth(old.srtt, sample, g),
            rttvar: smooth(old.rttvar, sample.abs_diff(old.srtt), h),
            min_rtt: old.min_rtt.min(sample),
        },
    }
}

/// The estimates of [`crate::RttEstimator::recall`]; latest and smallest sample stay.
pub(super) fn with_estimates(old: Option<Rtt>, srtt: Duration, rttvar: Duration) -> Rtt {
    let (latest, min_rtt) = old.map_or((srtt, srtt), |old| (old.latest, old.min_rtt));
    Rtt { latest, srtt, rttvar, min_rtt }
}

/// Ticks of a free-running clock during the `span` that ends at `now`: as BSD timed segments (a counter
/// incremented at every tick).
pub(super) fn ticks_during(span: Duration, now: Instant, tick: Duration) -> u64 {
    now.as_nanos() / tick.as_nanos() - now.saturating_sub(span).as_nanos() / tick.as_nanos()
}

/// The clock of an estimator, as opposed to the heartbeat on which a timer expires.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ticks {
    /// Its period; zero for a fine clock. A timeout of one tick may expire at once, hence floors of two
    /// (E-A1).
    pub tick: Duration,
    /// Samples are whole ticks, as in BSD; otherwise they are exact, and the tick only sets floors.
    pub rounded: bool,
}

impl Ticks {
    /// Reads [`tick`] and [`rounded`].
    pub fn new(p: &Params) -> Self {
        Self { tick: p.duration("tick"), rounded: p.flag("rounded") }
    }

    /// The sample of a segment acknowledged at `now`.
    pub fn measured(self, rtt: Duration, now: Instant) -> Duration {
        if self.rounded && !self.tick.is_zero() { self.tick * ticks_during(rtt, now, self.tick) } else { rtt }
    }
}

/// Period of the clock that times segments.
pub(super) const fn tick(default: Duration) -> Param {
    Param::duration(
        "tick",
        default,
        Duration::ZERO..=Duration::from_secs(10),
        "tick of the timer's clock; the timeout is at least two ticks; 0s for a fine clock",
    )
}

/// Whether samples are whole ticks.
pub(super) const fn rounded(default: bool) -> Param {
    Param::flag(
        "rounded",
        default,
        "count samples in whole ticks of a free-running clock; otherwise they are exact, and the tick only \
         sets the floor",
    )
}

/// `timeout` limited to two bounds; where they cross, the lower one applies.
pub(super) fn bounded(timeout: Duration, min: Duration, max: Duration) -> Duration {
    timeout.min(max).max(min)
}

const HOUR: Duration = Duration::from_secs(3600);

/// Floor of the timeout.
pub(super) const fn min_rto(default: Duration) -> Param {
    Param::duration("min_rto", default, Duration::ZERO..=HOUR, "smallest timeout before backoff")
}

/// Ceiling of the timeout.
pub(super) const fn max_rto(default: Duration) -> Param {
    Param::duration("max_rto", default, Duration::from_millis(1)..=HOUR, "largest timeout before backoff")
}

/// Timeout before the first sample.
pub(super) const fn initial_rto(default: Duration) -> Param {
    Param::duration(
        "initial_rto",
        default,
        Duration::from_millis(1)..=HOUR,
        "timeout before the first sample, SYNs included",
    )
}
