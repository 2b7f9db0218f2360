use ackclock_units::{Bytes, Duration};

use super::eifel::{Prediction, SHOCK, WEIGHT};
use super::flight::FLIGHT;
use super::smooth::{bounded, initial_rto, max_rto, min_rto, rounded, tick};
use crate::{Entry, Param, Policy, PrivateState, Rtt, RttEstimator, RttSample};

/// The Eifel timer, scaled by a factor that falls slowly until a timeout turns out to have been spurious.
#[derive(Debug)]
struct EifelAgg {
    prediction: Prediction,
    agg: f64,
    k: f64,
    cycle: Cycle,
    min_rto: Duration,
    max_rto: Duration,
    initial_rto: Duration,
}

/// MAXCWND, given or learnt: the largest window of this cycle and of the one before. A cycle ends when the
/// window falls.
#[derive(Debug)]
struct Cycle {
    /// Segments; 0 when it is to be learnt.
    given: u64,
    last: Bytes,
    before: f64,
    largest: f64,
}

impl Cycle {
    /// E-E14: segments in a cycle, at least one.
    fn segments(&mut self, s: RttSample) -> f64 {
        let max_cwnd = if self.given > 0 {
            self.given as f64
        } else {
            // Of a window that is not filled, what is in flight counts.
            let cwnd = if s.flight_size > 0 { s.window.cwnd.min(s.flight_size) } else { s.window.cwnd };
            if s.window.cwnd < self.last {
                (self.before, self.largest) = (self.largest, 0.0);
            }
            self.last = s.window.cwnd;
            self.largest = self.largest.max(cwnd as f64 / f64::from(s.smss));
            self.largest.max(self.before)
        };
        (0.375 * max_cwnd * max_cwnd).max(1.0)
    }
}

impl Policy for EifelAgg {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        self.prediction.private_state(state);
        state.number("agg", self.agg);
    }
}

impl RttEstimator for EifelAgg {
    fn on_sample(&mut self, s: RttSample) {
        // A spurious timeout is reported before the sample that shows it, so that the rise comes first and
        // then the decay (E-A7 leaves the order open).
        self.agg *= 1.0 - self.k / self.cycle.segments(s);
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
        // E-E16. However small the factor, a timeout of less than two ticks may expire at once.
        let floor = floor.max(self.prediction.ticks.tick * 2);
        bounded(self.prediction.rto.mul_f64(self.agg), floor, self.max_rto)
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

    fn on_spurious_timeout(&mut self) {
        // E-E15; it cannot exceed 1.
        self.agg += (1.0 - self.agg) / 2.0;
    }
}

/// The self-tuning timer.
pub(crate) const ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "eifel-agg",
    about: "The Eifel timer scaled by a self-tuning factor: each sample lowers it, each spurious timeout \
            halves its distance from 1.",
    source: "Ludwig & Sklower 2000 (E-A7, E-E14..E16)",
    params: &[
        Param::ratio("k", 0.05, 0.0..=1.0, "fraction by which the factor falls in a cycle of the window"),
        Param::ratio("initial_agg", 1.0, 0.01..=1.0, "initial factor"),
        Param::count(
            "max_cwnd",
            0,
            0..=1 << 20,
            "largest window of a cycle, segments (MAXCWND); 0 to learn it from the window",
        ),
        SHOCK,
        WEIGHT,
        FLIGHT,
        tick(Duration::from_millis(10)),
        rounded(false),
        min_rto(Duration::ZERO),
        max_rto(Duration::from_secs(64)),
        initial_rto(Duration::from_secs(3)),
    ],
    build: |p| {
        Box::new(EifelAgg {
            prediction: Prediction::new(p),
            agg: p.ratio("initial_agg"),
            k: p.ratio("k"),
            cycle: Cycle { given: p.count("max_cwnd"), last: 0, before: 0.0, largest: 0.0 },
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
    use crate::{Params, Value, Window};

    fn built(sets: &[(&str, Value)]) -> Box<dyn RttEstimator> {
        let mut p = Params::defaults(ENTRY.params);
        assert!(sets.iter().all(|(name, value)| p.set(name, *value)));
        (ENTRY.build)(&p)
    }

    fn agg(e: &dyn RttEstimator) -> f64 {
        let mut state = PrivateState::default();
        e.private_state(&mut state);
        state.0.iter().find(|(name, _)| *name == "agg").expect("shown").1
    }

    fn feed(e: &mut dyn RttEstimator, n: u64, cwnd: u64) {
        let window = Window { cwnd: cwnd * 1000, ssthresh: 13_000 };
        let one = |i| RttSample {
            window,
            flight_size: cwnd * 1000,
            ..sample(Duration::from_secs(100 + i), Duration::from_secs(20))
        };
        (0..n).for_each(|i| e.on_sample(one(i)));
    }

    #[test]
    fn a_cycle_lowers_the_factor_by_k() {
        // E-E15: 260 samples, MAXCWND 26.
        for (k, factor) in [(0.05, 0.950006), (0.1, 0.902502)] {
            let mut e = built(&[("k", Value::Ratio(k)), ("max_cwnd", Value::Count(26))]);
            feed(&mut *e, 260, 26);
            assert!((agg(&*e) / factor - 1.0).abs() < 1e-6, "{} is not {factor}", agg(&*e));
        }
    }

    #[test]
    fn a_spurious_timeout_halves_the_distance_from_one() {
        let mut e = built(&[("initial_agg", Value::Ratio(0.67))]);
        e.on_spurious_timeout();
        assert!((agg(&*e) - 0.835).abs() < 1e-12);
        (0..100).for_each(|_| e.on_spurious_timeout());
        assert!(agg(&*e) <= 1.0);
    }

    #[test]
    fn the_largest_window_is_learnt() {
        let (mut learnt, mut given) = (built(&[]), built(&[("max_cwnd", Value::Count(26))]));
        for e in [&mut learnt, &mut given] {
            feed(&mut **e, 1, 26);
            // The window of the next cycle is smaller so far.
            feed(&mut **e, 100, 14);
        }
        assert_eq!(agg(&*learnt), agg(&*given));
        // Two cycles later it is forgotten.
        feed(&mut *learnt, 1, 13);
        feed(&mut *given, 1, 13);
        assert!(agg(&*learnt) < agg(&*given));
    }
}
