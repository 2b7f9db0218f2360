//! PacketArrival times of flows.

use ackclock_policy::Params;
use ackclock_units::{Duration, Instant, Rng};

/// How long ON and OFF periods last.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Periods {
    /// Always equal to the mean.
    Constant,
    /// Exponential.
    Exponential,
    /// Pareto with this shape, above 1.
    Pareto(f64),
}

impl Periods {
    /// Reads the choice `periods` and the ratio `shape`.
    pub(crate) fn from_params(p: &Params) -> Self {
        match p.choice("periods") {
            "constant" => Self::Constant,
            "exponential" => Self::Exponential,
            _ => Self::Pareto(p.ratio("shape")),
        }
    }

    /// A period with this mean.
    pub fn draw(self, mean: Duration, rng: &mut Rng) -> Duration {
        let u = rng.unit_open();
        match self {
            Self::Constant => mean,
            Self::Exponential => mean.mul_f64(-libm::log(u)),
            // A Pareto distribution of mean m and shape a begins at m (a-1)/a.
            Self::Pareto(a) => mean.mul_f64((a - 1.0) / a * libm::pow(u, -1.0 / a)),
        }
    }
}

/// Alternating periods; the first is ON.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OnOff {
    /// Mean ON period.
    pub on: Duration,
    /// Mean OFF period.
    pub off: Duration,
    /// Their distribution.
    pub periods: Periods,
}

impl OnOff {
    /// Reads `on`, `off`, `periods` and `shape`.
    pub(crate) fn from_params(p: &Params) -> Self {
        Self { on: p.duration("on"), off: p.duration("off"), periods: Periods::from_params(p) }
    }

    /// How much higher the rate is during ON than on average.
    pub fn boost(&self) -> f64 {
        (self.on + self.off).as_secs_f64() / self.on.as_secs_f64()
    }
}

/// The process of arrivals.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pattern {
    /// Independent arrivals.
    Poisson,
    /// One after each mean interval.
    Regular,
    /// Poisson during ON periods, at a rate that keeps the average (B-A9); none during OFF periods.
    OnOff(OnOff),
}

/// Generates the times of arrivals.
#[derive(Debug)]
pub struct Arrivals {
    pattern: Pattern,
    mean_interval: Duration,
    now: Instant,
    /// End of the present ON period.
    on_until: Instant,
    rng: Rng,
    period_rng: Rng,
}

impl Arrivals {
    /// Arrivals at `per_second` on average, from `start` on. `name` and `seed` select the random streams.
    pub fn new(pattern: Pattern, per_second: f64, start: Instant, seed: u64, name: &str) -> Self {
        let mut period_rng = Rng::stream(seed, &format!("{name}.periods"), 0);
        let (on_until, rate) = match pattern {
            Pattern::OnOff(p) => (start + p.periods.draw(p.on, &mut period_rng), per_second * p.boost()),
            _ => (Instant::FAR_FUTURE, per_second),
        };
        // A positive interval, so that time advances.
        let mean_interval = Duration::from_secs_f64(1.0 / rate).max(Duration::from_nanos(1));
        Self {
            pattern,
            mean_interval,
            now: start,
            on_until,
            rng: Rng::stream(seed, &format!("{name}.arrivals"), 0),
            period_rng,
        }
    }

    /// The next arrival.
    pub fn next_arrival(&mut self) -> Instant {
        let mut gap = match self.pattern {
            Pattern::Regular => self.mean_interval,
            _ => self.mean_interval.mul_f64(-libm::log(self.rng.unit_open())),
        };
        if let Pattern::OnOff(p) = self.pattern {
            // The gap is time spent in ON periods.
            while self.now + gap >= self.on_until && self.on_until < Instant::FAR_FUTURE {
                gap = gap.saturating_sub(self.on_until.since(self.now));
                self.now = self.on_until + p.periods.draw(p.off, &mut self.period_rng);
                self.on_until =
                    self.now + p.periods.draw(p.on, &mut self.period_rng).max(Duration::from_nanos(1));
            }
        }
        self.now += gap;
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(pattern: Pattern, per_second: f64, seconds: u64) -> Vec<f64> {
        let mut a = Arrivals::new(pattern, per_second, Instant::ZERO, 1, "web");
        let end = Instant::ZERO + Duration::from_secs(seconds);
        std::iter::repeat_with(|| a.next_arrival())
            .take_while(|t| *t < end)
            .map(|t| t.as_secs_f64())
            .collect()
    }

    #[test]
    fn poisson_arrivals_have_their_rate_and_variance() {
        let times = until(Pattern::Poisson, 100.0, 1000);
        assert!((times.len() as f64 - 100_000.0).abs() < 4.0 * 316.0, "{} arrivals", times.len());
        // Counts in seconds: variance equal to the mean.
        let mut counts = vec![0.0; 1000];
        times.iter().for_each(|t| counts[*t as usize] += 1.0);
        let variance = counts.iter().map(|c| (c - 100.0_f64).powi(2)).sum::<f64>() / 1000.0;
        assert!((variance / 100.0 - 1.0).abs() < 0.2, "variance {variance}");
    }

    #[test]
    fn regular_arrivals_are_evenly_spaced() {
        assert_eq!(until(Pattern::Regular, 4.0, 2), [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75]);
    }

    #[test]
    fn on_off_arrivals_double_their_rate_in_half_of_the_time() {
        // B-A9: ON and OFF equally long, average load constant.
        let half = Duration::from_millis(500);
        let times =
            until(Pattern::OnOff(OnOff { on: half, off: half, periods: Periods::Constant }), 100.0, 1000);
        assert!((times.len() as f64 - 100_000.0).abs() < 4.0 * 316.0, "{} arrivals", times.len());
        assert!(times.iter().all(|t| t.fract() < 0.5), "none during OFF");
    }

    #[test]
    fn random_periods_keep_the_average() {
        for periods in [Periods::Exponential, Periods::Pareto(2.5)] {
            let p = OnOff { on: Duration::from_millis(100), off: Duration::from_millis(50), periods };
            let n = until(Pattern::OnOff(p), 100.0, 2000).len() as f64;
            assert!((n / 200_000.0 - 1.0).abs() < 0.03, "{periods:?}: {n} arrivals");
        }
    }

    #[test]
    fn pareto_periods_have_their_mean() {
        let (mut rng, n) = (Rng::stream(1, "periods", 0), 200_000);
        let sum: f64 =
            (0..n).map(|_| Periods::Pareto(3.0).draw(Duration::from_secs(16), &mut rng).as_secs_f64()).sum();
        assert!((sum / f64::from(n) / 16.0 - 1.0).abs() < 0.01);
    }
}
