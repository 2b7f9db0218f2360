use std::sync::Arc;

use ackclock_units::{Duration, Instant};

use super::smooth::{mean_and_deviation, smooth, with_estimates};
use crate::{Entry, Param, Params, Policy, PrivateState, Rtt, RttEstimator, RttSample};

/// CoCoA's timeout: a mean of what two estimators give, one of segments sent once and one of retransmitted
/// segments, which ages while there are no samples.
#[derive(Debug)]
struct Cocoa {
    rules: Arc<Rules>,
    strong: Option<Rtt>,
    weak: Option<Rtt>,
    rto: Duration,
    /// When the timeout was last updated.
    updated_at: Instant,
}

/// The parameters.
#[derive(Debug)]
struct Rules {
    initial_rto: Duration,
    clock_granularity: Duration,
    strong_weight: f64,
    weak_weight: f64,
}

impl Rules {
    fn new(p: &Params) -> Self {
        Self {
            initial_rto: p.duration("initial_rto"),
            clock_granularity: p.duration("clock_granularity"),
            strong_weight: p.ratio("strong_weight"),
            weak_weight: p.ratio("weak_weight"),
        }
    }

    /// The timeout of one estimator, by RFC 6298 with its own K (§4.2.1).
    fn estimate(&self, rtt: Rtt, k: u64) -> Duration {
        rtt.srtt + self.clock_granularity.max(rtt.rttvar * k)
    }
}

impl Cocoa {
    /// §4.3: ages the timeout by what has passed since its last update, as often as that is due.
    fn age(&mut self, now: Instant) {
        loop {
            let (until, aged) = if self.rto < SMALL {
                (self.updated_at + self.rto * SMALL_LASTS, self.rto * 2)
            } else if self.rto > LARGE {
                (self.updated_at + self.rto * LARGE_LASTS, Duration::from_secs(1) + self.rto / 2)
            } else {
                return;
            };
            if now <= until || self.rto.is_zero() {
                return;
            }
            (self.rto, self.updated_at) = (aged, until);
        }
    }

    /// §4.2, (1) and (2).
    fn combine(&mut self, estimate: Duration, weight: f64, now: Instant) {
        self.rto = smooth(self.rto, estimate, weight);
        self.updated_at = now;
    }
}

impl Policy for Cocoa {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("weak_srtt", self.weak.map_or(0.0, |weak| weak.srtt.as_secs_f64()));
        state.number("weak_rttvar", self.weak.map_or(0.0, |weak| weak.rttvar.as_secs_f64()));
    }
}

impl RttEstimator for Cocoa {
    fn on_sample(&mut self, s: RttSample) {
        self.age(s.now);
        let strong = mean_and_deviation(self.strong, s.rtt, ALPHA, BETA);
        self.strong = Some(strong);
        self.combine(self.rules.estimate(strong, STRONG_K), self.rules.strong_weight, s.now);
    }

    fn takes_weak_samples(&self) -> bool {
        true
    }

    fn on_weak_sample(&mut self, s: RttSample, retransmissions: u32) {
        // §4.2: only the first two retransmissions are considered.
        if retransmissions > MOST_RETRANSMISSIONS {
            return;
        }
        self.age(s.now);
        let weak = mean_and_deviation(self.weak, s.rtt, ALPHA, BETA);
        self.weak = Some(weak);
        self.combine(self.rules.estimate(weak, WEAK_K), self.rules.weak_weight, s.now);
    }

    fn on_idle(&mut self, now: Instant) {
        if self.strong.is_some() || self.weak.is_some() {
            self.age(now);
        }
    }

    fn rtt(&self) -> Option<Rtt> {
        self.strong.or(self.weak)
    }

    fn rto(&self) -> Duration {
        self.rto
    }

    fn rto_above(&self, floor: Duration) -> Duration {
        if self.rtt().is_none() { self.rto } else { self.rto.max(floor) }
    }

    fn initial_rto(&self) -> Duration {
        self.rules.initial_rto
    }

    fn set_estimates(&mut self, srtt: Duration, rttvar: Duration) {
        let strong = with_estimates(self.strong, srtt, rttvar);
        self.strong = Some(strong);
        self.rto = self.rules.estimate(strong, STRONG_K);
    }

    fn granularity(&self) -> Duration {
        self.rules.clock_granularity
    }
}

/// Appendix A.1, as RFC 6298 §2.3.
const ALPHA: f64 = 1.0 / 8.0;
/// Appendix A.1, as RFC 6298 §2.3.
const BETA: f64 = 1.0 / 4.0;
/// K of the strong estimator, as RFC 6298 §2.3.
const STRONG_K: u64 = 4;
/// K of the weak estimator (§4.2.1).
const WEAK_K: u64 = 1;
/// §4.2: answers after the third retransmission are not used.
const MOST_RETRANSMISSIONS: u32 = 2;
/// §4.3: a timeout below this is doubled when it was not updated for 16 times its value.
const SMALL: Duration = Duration::from_secs(1);
/// §4.3.
const SMALL_LASTS: u64 = 16;
/// §4.3: a timeout above this becomes 1 s and half of it when it was not updated for 4 times its value.
const LARGE: Duration = Duration::from_secs(3);
/// §4.3.
const LARGE_LASTS: u64 = 4;

/// CoCoA's estimator.
pub(crate) const ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "cocoa",
    about: "CoCoA's timeout, for constrained networks: a mean of a strong estimator of segments sent once and \
            a weak one of segments sent again, counted from their first transmission; without samples it \
            ages towards 1 to 3 s.",
    source: "draft-ietf-core-cocoa-03 4.1 to 4.3 and appendix A",
    params: &[
        Param::duration(
            "initial_rto",
            Duration::from_secs(2),
            Duration::from_millis(1)..=Duration::from_secs(3600),
            "timeout before the first sample, SYNs included (4.1)",
        ),
        Param::duration(
            "clock_granularity",
            Duration::from_millis(1),
            Duration::ZERO..=Duration::from_secs(10),
            "G, clock granularity, the least term added for the variation (RFC 6298 2.3)",
        ),
        Param::ratio("strong_weight", 0.5, 0.0..=1.0, "w_strong, weight of the strong estimator (4.2)"),
        Param::ratio(
            "weak_weight",
            0.25,
            0.0..=1.0,
            "w_weak, weight of the weak estimator (4.2); 0 for the strong one alone",
        ),
    ],
    build: |p| {
        let rules = p.shared(Rules::new);
        Box::new(Cocoa { rto: rules.initial_rto, rules, strong: None, weak: None, updated_at: Instant::ZERO })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::sample;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn with_rto(rto: Duration) -> Cocoa {
        let rules = Arc::new(Rules::new(&Params::defaults(ENTRY.params)));
        Cocoa { rules, strong: None, weak: None, rto, updated_at: Instant::ZERO }
    }

    #[test]
    fn weak_samples_raise_the_timeout_as_in_example_a_1() {
        // Appendix B, example A.1: RTT 2 s and RTTVAR 1 s make E_weak = 3 s; the timeout of 1.5 s becomes
        // 0.25 * 3 + 0.75 * 1.5 = 1.875 s, and with the same values 2.156 s.
        let mut e = with_rto(ms(1500));
        e.on_weak_sample(sample(ms(2000), ms(2000)), 1);
        assert_eq!(e.weak.map(|weak| (weak.srtt, weak.rttvar)), Some((ms(2000), ms(1000))));
        assert_eq!(e.rto(), ms(1875));
        e.combine(ms(3000), 0.25, Instant::ZERO + ms(4000));
        assert_eq!(e.rto(), Duration::from_micros(2_156_250));
    }

    #[test]
    fn strong_samples_count_by_half() {
        let mut e = with_rto(ms(2000));
        e.on_sample(sample(ms(1000), ms(200)));
        // E_strong = 200 + 4 * 100 = 600 ms; half of it and half of 2 s.
        assert_eq!(e.rto(), ms(1300));
        e.on_sample(sample(ms(2000), ms(200)));
        // 200 + 4 * 75 = 500 ms.
        assert_eq!(e.rto(), ms(900));
    }

    #[test]
    fn the_third_retransmission_does_not_count() {
        let mut e = with_rto(ms(2000));
        e.on_weak_sample(sample(ms(9000), ms(9000)), 3);
        assert_eq!((e.rto(), e.rtt()), (ms(2000), None));
        e.on_weak_sample(sample(ms(9000), ms(1000)), 2);
        // 1000 + 1 * 500, a quarter of it.
        assert_eq!(e.rto(), ms(1875));
    }

    #[test]
    fn large_timeouts_age_as_in_example_a_2() {
        // "with an RTO of 4 s, after 16 s the RTO would be shifted to 3 s"
        let mut e = with_rto(ms(4000));
        e.age(Instant::ZERO + ms(16_000));
        assert_eq!(e.rto(), ms(4000));
        e.age(Instant::ZERO + ms(16_001));
        assert_eq!(e.rto(), ms(3000));
        e.age(Instant::FAR_FUTURE);
        assert_eq!(e.rto(), ms(3000), "not above 3 s any more");
    }

    #[test]
    fn small_timeouts_age_as_in_example_b() {
        // Doubled after 16 * 0.3 = 4.8 s (the example prints 3.8 s), then after 16 * 0.6 s more.
        let mut e = with_rto(ms(300));
        e.age(Instant::ZERO + ms(4801));
        assert_eq!(e.rto(), ms(600));
        e.age(Instant::ZERO + ms(4800 + 9600));
        assert_eq!(e.rto(), ms(600));
        e.age(Instant::ZERO + ms(4800 + 9601));
        assert_eq!(e.rto(), ms(1200));
        let mut late = with_rto(ms(300));
        late.age(Instant::ZERO + ms(100_000));
        assert_eq!(late.rto(), ms(1200), "as often as it was due");
    }

    #[test]
    fn only_a_measured_timeout_ages() {
        let mut e = with_rto(ms(500));
        e.on_idle(Instant::ZERO + ms(100_000));
        assert_eq!(e.rto(), ms(500));
        e.on_sample(sample(ms(100_000), ms(100)));
        assert!(e.rto() < ms(1000));
        e.on_idle(Instant::ZERO + ms(1_000_000));
        assert!(e.rto() >= ms(1000));
    }
}
