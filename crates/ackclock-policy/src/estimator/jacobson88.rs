use ackclock_units::Duration;

use super::smooth::{Ticks, bounded, initial_rto, max_rto, mean_and_deviation, min_rto, with_estimates};
use crate::{Entry, Param, Params, Policy, Rtt, RttEstimator, RttSample};

/// Mean plus weighted mean deviation, in real arithmetic. The 4.4BSD-Lite timer of E-A1 (`lite`) is this one
/// on a coarse clock.
#[derive(Debug)]
pub(super) struct Jacobson88 {
    name: &'static str,
    g: f64,
    h: f64,
    weight: f64,
    ticks: Ticks,
    /// Never below the latest sample (E-A9).
    sample_floor: bool,
    min_rto: Duration,
    max_rto: Duration,
    initial_rto: Duration,
    rtt: Option<Rtt>,
}

impl Jacobson88 {
    /// This estimator with or without a floor at the latest sample.
    pub fn floored(self, sample_floor: bool) -> Self {
        Self { sample_floor, ..self }
    }

    /// With the paper's final gains and weight.
    pub fn with_ticks(name: &'static str, ticks: Ticks, p: &Params) -> Self {
        Self {
            name,
            g: G,
            h: H,
            weight: WEIGHT,
            ticks,
            sample_floor: false,
            min_rto: p.duration("min_rto"),
            max_rto: p.duration("max_rto"),
            initial_rto: p.duration("initial_rto"),
            rtt: None,
        }
    }
}

/// J-A4, E-E2.
const G: f64 = 0.125;
/// J-A4, E-E3.
const H: f64 = 0.25;
/// J-E7, E-E4.
const WEIGHT: f64 = 4.0;

impl Policy for Jacobson88 {
    fn name(&self) -> &str {
        self.name
    }
}

impl RttEstimator for Jacobson88 {
    fn on_sample(&mut self, s: RttSample) {
        self.rtt = Some(mean_and_deviation(self.rtt, self.ticks.measured(s.rtt, s.now), self.g, self.h));
    }

    fn rtt(&self) -> Option<Rtt> {
        self.rtt
    }

    fn rto(&self) -> Duration {
        self.rto_above(self.min_rto)
    }

    fn rto_above(&self, floor: Duration) -> Duration {
        let Some(rtt) = self.rtt else { return self.initial_rto };
        // A timeout of one tick may expire at once, hence the floor of two ticks (E-A1, E-E4), or of two
        // ticks more than the latest sample (E-A9, E-E12).
        let two = self.ticks.tick * 2;
        let least = if self.sample_floor { rtt.latest + two } else { Duration::ZERO };
        bounded((rtt.srtt + rtt.rttvar.mul_f64(self.weight)).max(least), floor.max(two), self.max_rto)
    }

    fn initial_rto(&self) -> Duration {
        self.initial_rto
    }

    fn set_estimates(&mut self, srtt: Duration, rttvar: Duration) {
        self.rtt = Some(with_estimates(self.rtt, srtt, rttvar));
    }

    fn granularity(&self) -> Duration {
        self.ticks.tick
    }
}

/// Jacobson and Karels' timer.
pub(crate) const ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "jacobson88",
    about: "Smoothed mean plus four mean deviations, in real arithmetic; with a tick, BSD's samples and its \
            floor of two ticks (the Lite timer).",
    source: "Jacobson & Karels 1988 (J-A4, J-E7, J-E17); Ludwig & Sklower 2000 (E-A1, E-E1..E4)",
    params: &[
        Param::ratio("g", G, 0.0..=1.0, "gain of the mean"),
        Param::ratio("h", H, 0.0..=1.0, "gain of the mean deviation"),
        Param::ratio(
            "weight",
            WEIGHT,
            0.0..=64.0,
            "weight of the mean deviation in the timeout (2 in the paper of 1988)",
        ),
        Param::duration(
            "tick",
            Duration::ZERO,
            Duration::ZERO..=Duration::from_secs(10),
            "tick of a free-running clock that times segments; 0s for exact samples",
        ),
        min_rto(Duration::from_secs(1)),
        max_rto(Duration::from_secs(64)),
        initial_rto(Duration::from_secs(3)),
    ],
    build: |p| {
        let tick = p.duration("tick");
        let plain = Jacobson88::with_ticks(ENTRY.name, Ticks { tick, rounded: !tick.is_zero() }, p);
        Box::new(Jacobson88 { g: p.ratio("g"), h: p.ratio("h"), weight: p.ratio("weight"), ..plain })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::sample;

    fn lite(rtt: f64, srtt: f64, rttvar: f64, floor: f64) -> (f64, f64, f64) {
        let s = Duration::from_secs_f64;
        let start = Rtt { latest: s(srtt), srtt: s(srtt), rttvar: s(rttvar), min_rtt: s(srtt) };
        let exact = Jacobson88::with_ticks(ENTRY.name, Ticks::default(), &Params::defaults(ENTRY.params));
        let mut e = Jacobson88 { min_rto: s(floor), max_rto: s(1e3), rtt: Some(start), ..exact };
        e.on_sample(sample(s(100.0), s(rtt)));
        let now = e.rtt().expect("sampled");
        (now.srtt.as_secs_f64(), now.rttvar.as_secs_f64(), e.rto().as_secs_f64())
    }

    #[test]
    fn golden_rows_in_real_arithmetic() {
        // J-E7: start a = 2, v = 0, samples of 10. Six significant digits.
        let rows = [
            (3.0, 2.0, 11.0),
            (3.875, 3.25, 16.875),
            (4.64062, 3.96875, 20.5156),
            (5.31055, 4.31641, 22.5762),
            (5.89673, 4.40967, 23.5354),
            (6.40964, 4.33307, 23.7419),
        ];
        let (mut a, mut v) = (2.0, 0.0);
        for row in rows {
            let (srtt, rttvar, rto) = lite(10.0, a, v, 0.0);
            for (got, want) in [(srtt, row.0), (rttvar, row.1), (rto, row.2)] {
                assert!((got / want - 1.0).abs() < 3e-6, "{got} is not {want}");
            }
            (a, v) = (srtt, rttvar);
        }
    }

    #[test]
    fn the_lite_timer_rises_when_the_rtt_falls() {
        // E-E1..E4: SRTT = 2, RTTVAR = 0.5.
        assert_eq!(lite(3.0, 2.0, 0.5, 0.0), (2.125, 0.625, 4.625));
        assert_eq!(lite(1.0, 2.0, 0.5, 0.0), (1.875, 0.625, 4.375));
        assert_eq!(lite(1.0, 2.0, 0.5, 5.0).2, 5.0, "floor");
    }

    #[test]
    fn a_tick_counts_samples_and_sets_a_floor() {
        let mut p = Params::defaults(ENTRY.params);
        assert!(
            p.set("tick", crate::Value::Duration(Duration::from_millis(500)))
                && p.set("min_rto", crate::Value::Duration(Duration::ZERO))
        );
        let mut e = (ENTRY.build)(&p);
        // Sent at 0.4 s, acknowledged at 0.6 s: one tick, at 0.5 s, although 200 ms passed.
        e.on_sample(sample(Duration::from_millis(600), Duration::from_millis(200)));
        assert_eq!(e.rtt().expect("sampled").srtt, Duration::from_millis(500));
        // Sent and acknowledged between ticks: nothing elapsed.
        let mut e = (ENTRY.build)(&p);
        e.on_sample(sample(Duration::from_millis(400), Duration::from_millis(200)));
        assert_eq!((e.rtt().expect("sampled").srtt, e.rto()), (Duration::ZERO, Duration::from_secs(1)));
    }

    #[test]
    fn slow_start_on_a_slow_line_outruns_the_filtered_estimator() {
        // J-E17: samples double; from a = 1, v = 0.5, a + 4v falls behind the next RTT after the first round.
        let (mut a, mut v, mut next) = (1.0, 0.5, 2.0);
        for want in [3.0, 3.625, 6.23438, 12.377, 25.2712] {
            assert!(((a + 4.0 * v) / want - 1.0_f64).abs() < 5e-6, "{} is not {want}", a + 4.0 * v);
            let (srtt, rttvar, _) = lite(next, a, v, 0.0);
            (a, v, next) = (srtt, rttvar, next * 2.0);
        }
    }
}
