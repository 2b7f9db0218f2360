use ackclock_units::Duration;

use super::flight::{FLIGHT, Flight};
use super::smooth::{Ticks, bounded, initial_rto, max_rto, min_rto, rounded, tick, with_estimates};
use crate::{Entry, Param, Params, Policy, PrivateState, Rtt, RttEstimator, RttSample};

/// The Eifel timer's prediction, before any bounds: `eifel` returns it and `eifel-agg` scales it.
#[derive(Debug)]
pub(super) struct Prediction {
    weight: f64,
    shock: Shock,
    pub ticks: Ticks,
    pub rtt: Option<Rtt>,
    /// E-E12; zero before the first sample.
    pub rto: Duration,
    rule: Flight,
    flight: f64,
    gain: f64,
}

/// How slowly the deviation shrinks (E-E8: the equation and the prose of the paper agree at sampling rate 1
/// only).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shock {
    /// The equation.
    GainSquared,
    /// The prose.
    GainOverFlight,
    /// As fast as it grows: no shock absorber (E-X11).
    None,
}

impl Prediction {
    /// Reads the parameters that [`ENTRY`] shares with `eifel-agg`.
    pub fn new(p: &Params) -> Self {
        let shock = match p.choice("shock") {
            "gain-squared" => Shock::GainSquared,
            "gain-over-flight" => Shock::GainOverFlight,
            _ => Shock::None,
        };
        Self {
            weight: p.ratio("weight"),
            shock,
            ticks: Ticks::new(p),
            rtt: None,
            rto: Duration::ZERO,
            rule: Flight::new(p),
            flight: 1.0,
            gain: ONE_SAMPLE_GAIN,
        }
    }

    /// E-E5..E12, in the order of E-A6.
    pub fn on_sample(&mut self, s: RttSample) {
        let sample = self.ticks.measured(s.rtt, s.now);
        let load = (s.flight_size as f64 / f64::from(s.smss)).max(1.0);
        self.flight = self.rule.at(s);
        // Fewer than three samples in two round trips count as one sample per round trip, the sparsest
        // sampling with the largest gain. With E-E7 alone, delayed acks and a load of 6 would leave rows
        // without margin (E-X2).
        let one = s.sampling_rate * load < 1.5;
        self.gain =
            if one { ONE_SAMPLE_GAIN } else { (1.0 / (s.sampling_rate * self.flight)).min(ONE_SAMPLE_GAIN) };
        let rtt = match self.rtt {
            None => Rtt { latest: sample, srtt: sample, rttvar: sample / 2, min_rtt: sample },
            Some(old) => {
                let (srtt, rttvar) = self.next(old, sample);
                Rtt { latest: sample, srtt, rttvar, min_rtt: old.min_rtt.min(sample) }
            }
        };
        self.rto = self.of(rtt);
        self.rtt = Some(rtt);
    }

    /// Sets the estimates; the gain stays that of the last sample.
    pub fn set_estimates(&mut self, srtt: Duration, rttvar: Duration) {
        let rtt = with_estimates(self.rtt, srtt, rttvar);
        self.rto = self.of(rtt);
        self.rtt = Some(rtt);
    }

    /// E-E12.
    fn of(&self, rtt: Rtt) -> Duration {
        (rtt.srtt + rtt.rttvar.mul_f64(self.weight / self.gain)).max(rtt.latest + self.ticks.tick * 2)
    }

    /// SRTT and RTTVAR after a further sample: the deviation follows positive errors only, and shrinks by a
    /// smaller gain.
    fn next(&self, old: Rtt, sample: Duration) -> (Duration, Duration) {
        let (srtt, rttvar) = (old.srtt.as_nanos() as f64, old.rttvar.as_nanos() as f64);
        let delta = sample.as_nanos() as f64 - srtt;
        let gain_bar = match self.shock {
            _ if delta >= rttvar => self.gain,
            Shock::None => self.gain,
            Shock::GainSquared => self.gain * self.gain,
            Shock::GainOverFlight => self.gain / self.flight,
        };
        let rttvar = if delta >= 0.0 { rttvar + gain_bar * (delta - rttvar) } else { rttvar };
        let nanos = |x: f64| Duration::from_nanos((x + 0.5) as u64);
        (nanos(srtt + self.gain * delta), nanos(rttvar))
    }

    /// Adds its private numbers to a trace.
    pub fn private_state(&self, state: &mut PrivateState) {
        state.number("flight", self.flight);
        state.number("gain", self.gain);
    }
}

/// E-A6: the gain where one segment per round trip is timed, whatever the load.
const ONE_SAMPLE_GAIN: f64 = 1.0 / 3.0;

pub(super) const SHOCK: Param = Param::choice(
    "shock",
    "gain-squared",
    &["gain-squared", "gain-over-flight", "none"],
    // E-E8, E-X11
    "gain by which the deviation shrinks: GAIN^2 as in the paper's equation, GAIN/FLIGHT as in its prose, \
     or GAIN, which is no shock absorber",
);
pub(super) const WEIGHT: Param = Param::ratio(
    "weight",
    1.0,
    0.25..=16.0,
    // E-E11
    "m in the weight m/GAIN of the deviation; larger is more conservative",
);

/// The Eifel timer.
#[derive(Debug)]
struct Eifel {
    prediction: Prediction,
    min_rto: Duration,
    max_rto: Duration,
    initial_rto: Duration,
}

impl Policy for Eifel {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        self.prediction.private_state(state);
    }
}

impl RttEstimator for Eifel {
    fn on_sample(&mut self, s: RttSample) {
        self.prediction.on_sample(s);
    }

    fn rtt(&self) -> Option<Rtt> {
        self.prediction.rtt
    }

    fn rto(&self) -> Duration {
        self.rto_above(self.min_rto)
    }

    fn rto_above(&self, floor: Duration) -> Duration {
        if self.prediction.rtt.is_none() {
            return self.initial_rto;
        }
        bounded(self.prediction.rto, floor, self.max_rto)
    }

    fn initial_rto(&self) -> Duration {
        self.initial_rto
    }

    fn set_estimates(&mut self, srtt: Duration, rttvar: Duration) {
        self.prediction.set_estimates(srtt, rttvar);
    }

    fn granularity(&self) -> Duration {
        self.prediction.ticks.tick
    }
}

/// Ludwig and Sklower's timer.
pub(crate) const ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "eifel",
    about: "The Eifel timer: gains scaled by flight size and sampling rate, and a deviation that only \
            follows rising round-trip times.",
    source: "Ludwig & Sklower 2000 (E-A6, E-E5..E12)",
    params: &[
        SHOCK,
        WEIGHT,
        FLIGHT,
        // E-A5: an order of magnitude below round-trip times of a few 100 ms.
        tick(Duration::from_millis(10)),
        rounded(false),
        min_rto(Duration::ZERO),
        max_rto(Duration::from_secs(64)),
        initial_rto(Duration::from_secs(3)),
    ],
    build: |p| {
        Box::new(Eifel {
            prediction: Prediction::new(p),
            min_rto: p.duration("min_rto"),
            max_rto: p.duration("max_rto"),
            initial_rto: p.duration("initial_rto"),
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::sample;
    use crate::{Value, Window};

    /// SRTT, RTTVAR and RTO after one more sample, seconds; flight 6, no ticks.
    fn step(srtt: f64, rttvar: f64, rtt: f64, sampling_rate: f64, shock: &'static str) -> [f64; 3] {
        let s = Duration::from_secs_f64;
        let mut p = Params::defaults(ENTRY.params);
        assert!(p.set("tick", Value::Duration(Duration::ZERO)) && p.set("shock", Value::Choice(shock)));
        let mut e = Prediction::new(&p);
        e.rtt = Some(Rtt { latest: s(srtt), srtt: s(srtt), rttvar: s(rttvar), min_rtt: s(srtt) });
        let window = Window { cwnd: 6000, ssthresh: 5000 };
        e.on_sample(RttSample { window, flight_size: 6000, sampling_rate, ..sample(s(100.0), s(rtt)) });
        let now = e.rtt.expect("sampled");
        [now.srtt.as_secs_f64(), now.rttvar.as_secs_f64(), e.rto.as_secs_f64()]
    }

    fn assert_rows(rows: &[([f64; 3], [f64; 3])]) {
        for (got, want) in rows {
            assert!(got.iter().zip(want).all(|(g, w)| (g / w - 1.0).abs() < 3e-6), "{got:?} is not {want:?}");
        }
    }

    #[test]
    fn the_equations_give_the_golden_values() {
        // E-E12, SSTHRESH 5, CWND 6.
        assert_rows(&[
            (step(2.0, 0.5, 3.0, 1.0, "gain-squared"), [2.16667, 0.583333, 5.66667]),
            (step(2.0, 0.5, 2.2, 1.0, "gain-squared"), [2.03333, 0.491667, 4.98333]),
            (step(2.0, 0.5, 1.0, 1.0, "gain-squared"), [1.83333, 0.5, 4.83333]),
            (step(2.0, 0.5, 3.0, 0.5, "gain-squared"), [2.33333, 0.666667, 4.33333]),
            (step(2.0, 0.5, 3.0, 1.0 / 6.0, "gain-squared"), [2.33333, 0.666667, 4.33333]),
            (step(2.0, 0.5, 1.0, 1.0 / 6.0, "gain-squared"), [1.66667, 0.5, 3.16667]),
        ]);
    }

    #[test]
    fn a_jump_is_added_whole() {
        // E-E12 and E-X4: RTTVAR = 0, SRTT = 5, sample 8: RTO = SRTT + DELTA.
        assert_rows(&[(step(5.0, 1e-9, 8.0, 1.0, "gain-squared"), [5.5, 0.5, 8.5])]);
    }

    #[test]
    fn the_two_shock_absorbers_differ_only_off_rate_one() {
        assert_eq!(step(2.0, 0.5, 2.2, 1.0, "gain-squared"), step(2.0, 0.5, 2.2, 1.0, "gain-over-flight"));
        // GAIN = 1/3, FLIGHT = 6: 0.5 - 0.3/9 against 0.5 - 0.3/18.
        assert_rows(&[
            (step(2.0, 0.5, 2.2, 0.5, "gain-squared"), [2.06667, 0.466667, 3.46667]),
            (step(2.0, 0.5, 2.2, 0.5, "gain-over-flight"), [2.06667, 0.483333, 3.51667]),
        ]);
    }

    #[test]
    fn without_a_shock_absorber_the_deviation_shrinks_by_the_gain() {
        // 0.5 - 0.3/6 in place of 0.5 - 0.3/36.
        assert_rows(&[(step(2.0, 0.5, 2.2, 1.0, "none"), [2.03333, 0.45, 4.73333])]);
    }
}
