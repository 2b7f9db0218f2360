use ackclock_units::Duration;

use super::smooth::{bounded, initial_rto, max_rto, ticks_during};
use crate::{Entry, Param, Policy, PrivateState, Rtt, RttEstimator, RttSample};

/// Scaled estimates in ticks. Right shifts are arithmetic floors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Scaled {
    /// 8 a.
    sa: i64,
    /// 4 v in the final form, 8 v with one gain.
    sv: i64,
}

/// The two integer forms of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// Gain 1/8 for both (J-A5).
    OneGain,
    /// Gain 1/4 for the deviation (J-A6).
    Final,
}

impl Form {
    /// 4.3BSD's practice (J-A6): `a = m`, `v = m/2`.
    fn first(self, m: i64) -> Scaled {
        Scaled { sa: 8 * m, sv: if self == Self::Final { 2 * m } else { 4 * m } }
    }

    fn next(self, s: Scaled, m: i64) -> Scaled {
        let shift = if self == Self::Final { 2 } else { 3 };
        let err = m - (s.sa >> 3);
        Scaled { sa: s.sa + err, sv: s.sv + (err.abs() - (s.sv >> shift)) }
    }

    /// `a + 4v` in ticks. The final form needs no multiplication; with one gain, `4v = sv / 2`.
    fn rto(self, s: Scaled) -> i64 {
        (s.sa >> 3) + if self == Self::Final { s.sv } else { s.sv >> 1 }
    }
}

/// The integer timer of 4.3BSD, in ticks of a coarse clock.
#[derive(Debug)]
struct Jacobson88Ticks {
    form: Form,
    tick: Duration,
    min_ticks: u32,
    /// Least number of ticks by which the timeout lies above the last sample; `None` for no such floor.
    above_sample: Option<i64>,
    max_rto: Duration,
    initial_rto: Duration,
    /// Estimates before the first sample, if they are given; otherwise the first sample sets them.
    start: Option<Scaled>,
    /// The last sample, ticks.
    last: i64,
    estimate: Option<(Scaled, Duration, Duration)>,
}

impl Policy for Jacobson88Ticks {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        if let Some((s, ..)) = self.estimate {
            state.number("sa", s.sa as f64);
            state.number("sv", s.sv as f64);
        }
    }
}

impl RttEstimator for Jacobson88Ticks {
    fn on_sample(&mut self, s: RttSample) {
        // The bound keeps `8 m` far from overflow; no run lasts 2^40 ticks.
        let m = ticks_during(s.rtt, s.now, self.tick).min(1 << 40) as i64;
        self.last = m;
        self.estimate = Some(match self.estimate {
            None => (
                self.start.map_or_else(|| self.form.first(m), |start| self.form.next(start, m)),
                s.rtt,
                s.rtt,
            ),
            Some((old, _, min_rtt)) => (self.form.next(old, m), s.rtt, min_rtt.min(s.rtt)),
        });
    }

    fn rtt(&self) -> Option<Rtt> {
        let (s, latest, min_rtt) = self.estimate?;
        let scale = if self.form == Form::Final { 4 } else { 8 };
        let ticks = |n: i64| self.tick * n.max(0) as u64;
        Some(Rtt { latest, srtt: ticks(s.sa) / 8, rttvar: ticks(s.sv) / scale, min_rtt })
    }

    fn rto(&self) -> Duration {
        self.rto_above(self.tick * u64::from(self.min_ticks))
    }

    fn rto_above(&self, floor: Duration) -> Duration {
        let Some((s, ..)) = self.estimate else { return self.initial_rto };
        let ticks = self.form.rto(s).max(self.above_sample.map_or(0, |more| self.last + more)).max(0);
        bounded(self.tick * ticks as u64, floor, self.max_rto)
    }

    fn initial_rto(&self) -> Duration {
        self.initial_rto
    }

    fn set_estimates(&mut self, srtt: Duration, rttvar: Duration) {
        let scaled = |d: Duration, by: u64| {
            (((d * by).as_nanos() + self.tick.as_nanos() / 2) / self.tick.as_nanos()).min(1 << 40) as i64
        };
        let s =
            Scaled { sa: scaled(srtt, 8), sv: scaled(rttvar, if self.form == Form::Final { 4 } else { 8 }) };
        let (latest, min_rtt) = self.estimate.map_or((srtt, srtt), |(_, latest, min_rtt)| (latest, min_rtt));
        self.estimate = Some((s, latest, min_rtt));
    }

    fn granularity(&self) -> Duration {
        self.tick
    }
}

/// Jacobson and Karels' timer as 4.3BSD computed it.
pub(crate) const ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "jacobson88-ticks",
    about: "Smoothed mean plus four mean deviations in scaled integers, with samples in ticks of a \
            free-running coarse clock, as in 4.3BSD.",
    source: "Jacobson & Karels 1988 (J-A5, J-A6, J-E7); Ludwig & Sklower 2000 (E-A9)",
    params: &[
        Param::choice(
            "form",
            "final",
            &["final", "one-gain"],
            // J-A6, J-A5
            "`final`: deviation gain 1/4; `one-gain`: 1/8 for both",
        ),
        Param::duration(
            "tick",
            Duration::from_millis(500),
            Duration::from_micros(1)..=Duration::from_secs(10),
            "tick of the clock",
        ),
        Param::count(
            "min_ticks",
            2,
            0..=1000,
            // E-A1
            "smallest timeout in ticks: a timeout of one tick may expire at once",
        ),
        Param::flag(
            "sample_floor",
            false,
            // E-A9
            "keep the timeout at least two ticks above the last sample, as in FreeBSD",
        ),
        Param::choice(
            "start",
            "first-sample",
            &["first-sample", "given"],
            "initial estimates: those of the first sample (a = m, v = m/2), or given ones",
        ),
        Param::count("start_sa", 0, 0..=1 << 20, "initial sa = 8a, ticks, when `start` is `given`"),
        Param::count(
            "start_sv",
            24,
            0..=1 << 20,
            "initial sv, ticks, when `start` is `given`: 4v, or 8v with one gain (24 in 4.3BSD)",
        ),
        max_rto(Duration::from_secs(64)),
        initial_rto(Duration::from_secs(3)),
    ],
    build: |p| {
        Box::new(Jacobson88Ticks {
            form: if p.choice("form") == "final" { Form::Final } else { Form::OneGain },
            tick: p.duration("tick"),
            min_ticks: p.count("min_ticks") as u32,
            max_rto: p.duration("max_rto"),
            initial_rto: p.duration("initial_rto"),
            start: (p.choice("start") == "given")
                .then(|| Scaled { sa: p.count("start_sa") as i64, sv: p.count("start_sv") as i64 }),
            above_sample: p.flag("sample_floor").then_some(2),
            last: 0,
            estimate: None,
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::sample;

    #[test]
    fn a_floor_above_the_last_sample() {
        // E-A9: a constant round-trip time of 40 ticks, whose deviation has decayed to zero: sa = 320, sv =
        // 0.
        let tick = Duration::from_millis(500);
        for (floored, ticks) in [(false, 40), (true, 42)] {
            let mut p = crate::Params::defaults(ENTRY.params);
            assert!(
                p.set("sample_floor", crate::Value::Flag(floored))
                    && p.set("start", crate::Value::Choice("given"))
            );
            assert!(p.set("start_sa", crate::Value::Count(320)) && p.set("start_sv", crate::Value::Count(0)));
            let mut e = (ENTRY.build)(&p);
            e.on_sample(sample(tick * 100, tick * 40));
            assert_eq!(e.rto(), tick * ticks);
        }
    }

    fn rows(sa: i64, sv: i64, m: i64, n: usize) -> Vec<(i64, i64, i64)> {
        let mut s = Scaled { sa, sv };
        let step = |_| {
            s = Form::Final.next(s, m);
            (s.sa, s.sv, Form::Final.rto(s))
        };
        (0..n).map(step).collect()
    }

    #[test]
    fn golden_rows_when_the_rtt_rises() {
        // J-E7, J-X8: start sa = 16, sv = 0, samples of 10.
        let want = [
            (24, 8, 11),
            (31, 13, 16),
            (38, 17, 21),
            (44, 19, 24),
            (49, 20, 26),
            (53, 19, 25),
            (57, 19, 26),
            (60, 18, 25),
            (63, 17, 24),
            (66, 16, 24),
            (68, 14, 22),
            (70, 13, 21),
        ];
        assert_eq!(rows(16, 0, 10, 12), want);
    }

    #[test]
    fn golden_rows_when_the_rtt_falls() {
        // J-E7: start sa = 80, sv = 0, samples of 2. The timeout first rises from 10 to 23 (the fault of
        // E-A4).
        let want = [
            (72, 8, 17),
            (65, 13, 21),
            (59, 16, 23),
            (54, 17, 23),
            (50, 17, 23),
            (46, 17, 22),
            (43, 16, 21),
            (40, 15, 20),
            (37, 15, 19),
            (35, 14, 18),
            (33, 13, 17),
            (31, 12, 15),
            (30, 10, 13),
            (29, 9, 12),
            (28, 8, 11),
            (27, 7, 10),
        ];
        assert_eq!(rows(80, 0, 2, 16), want);
    }

    #[test]
    fn fixed_points_of_a_constant_sample() {
        let after_many = |form: Form, sa, sv| (0..1000).fold(Scaled { sa, sv }, |s, _| form.next(s, 5));
        let low = after_many(Form::Final, 0, 0);
        assert_eq!((low.sa, low.sv, Form::Final.rto(low)), (40, 3, 8));
        let high = after_many(Form::Final, 200, 40);
        assert_eq!((high.sa, high.sv, Form::Final.rto(high)), (47, 3, 8));
        let one = after_many(Form::OneGain, 200, 80);
        assert_eq!((one.sa, one.sv, (one.sa >> 3) + one.sv), (47, 7, 12));
    }

    #[test]
    fn the_scaled_form_of_the_paper() {
        // J-E6 (n = 3): a = 2, v = 1, m = 6: 8a goes to 20, 8v to 11.
        assert_eq!(Form::OneGain.next(Scaled { sa: 16, sv: 8 }, 6), Scaled { sa: 20, sv: 11 });
    }

    #[test]
    fn the_bias_of_ticks_sampled_at_random_phase() {
        // J-X7 (derived): with a real RTT of 5.3 ticks the mean timeout lies 1.74 ticks above that of the
        // same filter in real arithmetic; with exponential RTTs of mean 6 ticks, 1.48. Both within 0.1.
        let bias = |draw: fn(&mut ackclock_units::Rng) -> f64| {
            let (mut rng, n) = (ackclock_units::Rng::stream(7, "phase", 0), 400_000);
            let (mut s, mut a, mut v, mut sum) = (Form::Final.first(5), 5.0, 2.5, 0.0);
            for _ in 0..n {
                let m = (rng.unit() + draw(&mut rng)) as i64;
                s = Form::Final.next(s, m);
                let err = m as f64 - a;
                (a, v) = (a + err / 8.0, v + (err.abs() - v) / 4.0);
                sum += Form::Final.rto(s) as f64 - (a + 4.0 * v);
            }
            sum / f64::from(n)
        };
        let constant = bias(|_| 5.3);
        assert!((constant - 1.74).abs() < 0.1, "{constant}");
        let exponential = bias(|rng| -6.0 * libm::log(rng.unit_open()));
        assert!((exponential - 1.48).abs() < 0.1, "{exponential}");
    }

    #[test]
    fn given_estimates_are_updated_by_the_first_sample() {
        // J-E7, first golden row: sa = 16, sv = 0, a sample of 10.
        let mut p = crate::Params::defaults(ENTRY.params);
        for (name, value) in [("start_sa", 16), ("start_sv", 0)] {
            assert!(p.set(name, crate::Value::Count(value)));
        }
        assert!(p.set("start", crate::Value::Choice("given")));
        let mut e = (ENTRY.build)(&p);
        assert_eq!(e.rto(), Duration::from_secs(3), "before any sample");
        e.on_sample(sample(Duration::from_secs(5), Duration::from_secs(5)));
        assert_eq!(e.rto(), Duration::from_millis(5500));
    }

    #[test]
    fn the_floor_is_two_ticks() {
        let mut e = (ENTRY.build)(&crate::Params::defaults(ENTRY.params));
        for i in 1..50 {
            e.on_sample(sample(Duration::from_millis(500 * i + 100), Duration::from_millis(1)));
        }
        assert_eq!(e.rto(), Duration::from_secs(1));
    }
}
