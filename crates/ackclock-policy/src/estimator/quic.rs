use std::sync::Arc;

use ackclock_units::Duration;

use super::smooth::{mean_and_deviation, with_estimates};
use crate::{Entry, Param, Params, Policy, Rtt, RttEstimator, RttSample};

/// QUIC's estimates and probe timeout.
#[derive(Debug)]
struct Quic {
    rules: Arc<Rules>,
    rtt: Option<Rtt>,
}

/// The parameters.
#[derive(Debug)]
struct Rules {
    clock_granularity: Duration,
    max_ack_delay: Duration,
    initial_rtt: Duration,
}

impl Rules {
    fn new(p: &Params) -> Self {
        Self {
            clock_granularity: p.duration("clock_granularity"),
            max_ack_delay: p.duration("max_ack_delay"),
            initial_rtt: p.duration("initial_rtt"),
        }
    }

    /// RFC 9002 §6.2.1, without the ack delay, which is 0 before the handshake is confirmed.
    fn pto(&self, srtt: Duration, rttvar: Duration) -> Duration {
        srtt + self.clock_granularity.max(rttvar * K)
    }
}

impl Policy for Quic {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl RttEstimator for Quic {
    fn on_sample(&mut self, s: RttSample) {
        // RFC 9002 §5.3 and Appendix A.7. An ack of TCP does not say how long it was delayed, so that the
        // adjusted sample is the latest one.
        self.rtt = Some(mean_and_deviation(self.rtt, s.rtt, ALPHA, BETA));
    }

    fn rtt(&self) -> Option<Rtt> {
        self.rtt
    }

    fn rto(&self) -> Duration {
        self.rto_above(self.rules.clock_granularity)
    }

    fn rto_above(&self, floor: Duration) -> Duration {
        let Some(rtt) = self.rtt else { return self.initial_rto() };
        (self.rules.pto(rtt.srtt, rtt.rttvar) + self.rules.max_ack_delay).max(floor)
    }

    fn initial_rto(&self) -> Duration {
        // §5.3: smoothed_rtt = kInitialRtt, rttvar = kInitialRtt / 2. At least kGranularity (§6.2.1).
        self.rules.pto(self.rules.initial_rtt, self.rules.initial_rtt / 2).max(Duration::from_nanos(1))
    }

    fn set_estimates(&mut self, srtt: Duration, rttvar: Duration) {
        self.rtt = Some(with_estimates(self.rtt, srtt, rttvar));
    }

    fn granularity(&self) -> Duration {
        self.rules.clock_granularity
    }
}

/// RFC 9002 §5.3: 7/8 of the old mean remain.
const ALPHA: f64 = 1.0 / 8.0;
/// RFC 9002 §5.3: 3/4 of the old deviation remain.
const BETA: f64 = 1.0 / 4.0;
/// RFC 9002 §6.2.1.
const K: u64 = 4;

/// QUIC's estimator.
pub(crate) const ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "quic",
    about: "QUIC's estimates and probe timeout: smoothed round-trip time, four mean deviations and the \
            receiver's longest ack delay, without a floor. Acks of TCP do not report their delay, so none is \
            subtracted from samples.",
    source: "RFC 9002 5.3 and 6.2.1; max_ack_delay: RFC 9000 18.2",
    params: &[
        Param::duration(
            "clock_granularity",
            Duration::from_millis(1),
            Duration::ZERO..=Duration::from_secs(10),
            "kGranularity, least term added for the variation (A.2)",
        ),
        Param::duration(
            "max_ack_delay",
            Duration::from_millis(25),
            Duration::ZERO..=Duration::from_secs(16),
            "longest time by which the receiver delays acks (RFC 9000 18.2: 25 ms; Linux delays by 40 ms \
             and more)",
        ),
        Param::duration(
            "initial_rtt",
            Duration::from_millis(333),
            Duration::from_millis(1)..=Duration::from_secs(3600),
            "kInitialRtt, round-trip time before the first sample (6.2.2)",
        ),
    ],
    build: |p| Box::new(Quic { rules: p.shared(Rules::new), rtt: None }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::sample;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn built() -> Box<dyn RttEstimator> {
        (ENTRY.build)(&Params::defaults(ENTRY.params))
    }

    #[test]
    fn a_handshake_begins_with_a_second() {
        // §6.2.2: an initial round-trip time of 333 ms "results in handshakes starting with a PTO of 1
        // second": 333 + 4 * 166.5 = 999 ms.
        assert_eq!(built().initial_rto(), ms(999));
        assert_eq!(built().rto(), ms(999));
    }

    #[test]
    fn estimates_are_those_of_section_5_3() {
        let mut e = built();
        e.on_sample(sample(ms(100), ms(100)));
        // smoothed_rtt = latest_rtt, rttvar = latest_rtt / 2; 100 + 4 * 50 + 25.
        assert_eq!(e.rto(), ms(325));
        e.on_sample(sample(ms(300), ms(200)));
        // 7/8 * 100 + 1/8 * 200; 3/4 * 50 + 1/4 * |100 - 200|, with the mean from before (A.7).
        let rtt = e.rtt().expect("sampled");
        assert_eq!((rtt.srtt, rtt.rttvar), (Duration::from_micros(112_500), Duration::from_micros(62_500)));
        assert_eq!((rtt.min_rtt, rtt.latest), (ms(100), ms(200)));
        assert_eq!(e.rto(), Duration::from_micros(112_500 + 250_000 + 25_000));
    }

    #[test]
    fn there_is_no_floor_but_the_granularity() {
        let mut e = built();
        for i in 1..200 {
            e.on_sample(sample(ms(i), Duration::from_micros(100)));
        }
        // srtt + kGranularity + max_ack_delay
        assert_eq!(e.rto(), Duration::from_micros(100) + ms(1) + ms(25));
    }
}
