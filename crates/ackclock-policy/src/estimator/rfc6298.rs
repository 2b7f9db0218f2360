use std::sync::Arc;

use ackclock_units::Duration;

use super::smooth::{
    AFTER_LOST_SYN, bounded, initial_rto, max_rto, mean_and_deviation, min_rto, with_estimates,
};
use crate::{Entry, Param, Params, Policy, Rtt, RttEstimator, RttSample};

/// The standard timer.
#[derive(Debug)]
struct Rfc6298 {
    rules: Arc<Rules>,
    /// A SYN timed out: the first timeout of data is at least [`AFTER_LOST_SYN`].
    lost_syn: bool,
    rtt: Option<Rtt>,
}

/// The parameters.
#[derive(Debug)]
struct Rules {
    clock_granularity: Duration,
    slop: Duration,
    min_rto: Duration,
    max_rto: Duration,
    initial_rto: Duration,
}

impl Rules {
    fn new(p: &Params) -> Self {
        Self {
            clock_granularity: p.duration("clock_granularity"),
            slop: p.duration("slop"),
            min_rto: p.duration("min_rto"),
            max_rto: p.duration("max_rto"),
            initial_rto: p.duration("initial_rto"),
        }
    }
}

impl Policy for Rfc6298 {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl RttEstimator for Rfc6298 {
    fn on_sample(&mut self, s: RttSample) {
        self.rtt = Some(mean_and_deviation(self.rtt, s.rtt, ALPHA, BETA));
    }

    fn rtt(&self) -> Option<Rtt> {
        self.rtt
    }

    fn rto(&self) -> Duration {
        self.rto_above(self.rules.min_rto)
    }

    fn rto_above(&self, floor: Duration) -> Duration {
        let rules = &*self.rules;
        match self.rtt {
            Some(rtt) => {
                let least = rules.clock_granularity.max(rtt.rttvar * K);
                bounded(rtt.srtt + least + rules.slop, floor, rules.max_rto)
            }
            None if self.lost_syn => rules.initial_rto.max(AFTER_LOST_SYN),
            None => rules.initial_rto,
        }
    }

    fn initial_rto(&self) -> Duration {
        self.rules.initial_rto
    }

    fn set_estimates(&mut self, srtt: Duration, rttvar: Duration) {
        self.rtt = Some(with_estimates(self.rtt, srtt, rttvar));
    }

    fn granularity(&self) -> Duration {
        self.rules.clock_granularity
    }

    fn on_expiry(&mut self, _expiries: u32) {
        // Without any sample so far, it was a SYN that timed out.
        self.lost_syn |= self.rtt.is_none();
    }
}

/// RFC 6298 §2.3.
const ALPHA: f64 = 1.0 / 8.0;
/// RFC 6298 §2.3.
const BETA: f64 = 1.0 / 4.0;
/// RFC 6298 §2.3.
const K: u64 = 4;
/// RFC 6298's timer.
pub(crate) const ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "rfc6298",
    about: "The standard timer: smoothed round-trip time plus four mean deviations, at least one second.",
    source: "RFC 6298; Mondal & Kuzmanovic 2008 (B-A1) with (min_rto, initial_rto) = (1s, 3s) or (200ms, 3s)",
    params: &[
        Param::duration(
            "clock_granularity",
            Duration::from_millis(1),
            Duration::ZERO..=Duration::from_secs(10),
            "G, clock granularity, the least term added for the variation (2.3)",
        ),
        Param::duration(
            "slop",
            Duration::ZERO,
            Duration::ZERO..=Duration::from_secs(10),
            "time added to every timeout that follows from samples, as FreeBSD does (rexmit_slop)",
        ),
        min_rto(Duration::from_secs(1)),
        max_rto(Duration::from_secs(60)),
        initial_rto(Duration::from_secs(1)),
    ],
    build: |p| Box::new(Rfc6298 { rules: p.shared(Rules::new), lost_syn: false, rtt: None }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::sample;
    use crate::{Params, Value};

    fn with(min_rto: Duration) -> Box<dyn RttEstimator> {
        let mut p = Params::defaults(ENTRY.params);
        assert!(p.set("min_rto", Value::Duration(min_rto)));
        (ENTRY.build)(&p)
    }

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn slop_is_added_to_every_timeout_of_samples() {
        // FreeBSD: max(rexmit_min, SRTT + 4 RTTVAR) + rexmit_slop, which is a floor of their sum.
        let with_slop = || {
            let mut p = Params::defaults(ENTRY.params);
            for (name, value) in [("min_rto", 30 + 200), ("slop", 200)] {
                assert!(p.set(name, Value::Duration(ms(value))));
            }
            (ENTRY.build)(&p)
        };
        assert_eq!(with_slop().rto(), ms(1000), "not to the initial one");
        for (rtt_ms, rto_ms) in [(100, 100 + 4 * 50 + 200), (1, 30 + 200), (10, 30 + 200), (11, 33 + 200)] {
            let mut e = with_slop();
            e.on_sample(sample(ms(rtt_ms), ms(rtt_ms)));
            assert_eq!(e.rto(), ms(rto_ms), "{rtt_ms} ms");
        }
        let mut e = with_slop();
        e.on_sample(sample(Duration::from_secs(100), Duration::from_secs(100)));
        assert_eq!(e.rto(), Duration::from_secs(60), "the ceiling holds all the same");
    }

    #[test]
    fn first_and_later_samples() {
        let mut e = with(Duration::ZERO);
        assert_eq!(e.rto(), ms(1000), "2.1");
        e.on_sample(sample(ms(100), ms(100)));
        assert_eq!(e.rto(), ms(100 + 4 * 50), "2.2");
        e.on_sample(sample(ms(300), ms(200)));
        // 2.3: RTTVAR = 3/4 * 50 + 1/4 * |100 - 200| = 62.5; SRTT = 7/8 * 100 + 1/8 * 200 = 112.5.
        let rtt = e.rtt().expect("sampled");
        assert_eq!(
            (rtt.srtt, rtt.rttvar, rtt.latest, rtt.min_rtt),
            (Duration::from_micros(112_500), Duration::from_micros(62_500), ms(200), ms(100))
        );
        assert_eq!(e.rto(), Duration::from_micros(362_500));
    }

    #[test]
    fn the_floor_is_one_second_and_the_ceiling_sixty() {
        let mut e = with(ms(1000));
        e.on_sample(sample(ms(100), ms(100)));
        assert_eq!(e.rto(), ms(1000), "2.4");
        let mut e = with(ms(1000));
        e.on_sample(sample(ms(40_000), ms(40_000)));
        assert_eq!(e.rto(), ms(60_000), "2.5");
    }

    #[test]
    fn granularity_bounds_the_variation() {
        let mut e = with(Duration::ZERO);
        for i in 1..200 {
            e.on_sample(sample(ms(i * 100), ms(100)));
        }
        assert_eq!(e.rto(), ms(101), "SRTT + G");
    }

    #[test]
    fn data_begins_with_three_seconds_after_a_lost_syn() {
        let mut e = with(ms(1000));
        e.on_expiry(1);
        assert_eq!((e.initial_rto(), e.rto()), (ms(1000), ms(3000)), "5.7");
        e.on_sample(sample(ms(100), ms(100)));
        assert_eq!(e.rto(), ms(1000));
    }
}
