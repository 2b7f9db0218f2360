use ackclock_units::Duration;

use super::smooth::with_estimates;
use crate::{Entry, Param, Policy, Rtt, RttEstimator, RttSample};

/// A fixed timeout. Samples are kept for others, such as a loss recovery, and do not change it.
#[derive(Debug)]
struct Coap {
    ack_timeout: Duration,
    rtt: Option<Rtt>,
}

impl Policy for Coap {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl RttEstimator for Coap {
    fn on_sample(&mut self, s: RttSample) {
        let min_rtt = self.rtt.map_or(s.rtt, |old| old.min_rtt.min(s.rtt));
        self.rtt = Some(Rtt { latest: s.rtt, srtt: s.rtt, rttvar: Duration::ZERO, min_rtt });
    }

    fn rtt(&self) -> Option<Rtt> {
        self.rtt
    }

    fn rto(&self) -> Duration {
        self.ack_timeout
    }

    fn rto_above(&self, floor: Duration) -> Duration {
        if self.rtt.is_none() { self.ack_timeout } else { self.ack_timeout.max(floor) }
    }

    fn initial_rto(&self) -> Duration {
        self.ack_timeout
    }

    fn set_estimates(&mut self, srtt: Duration, rttvar: Duration) {
        self.rtt = Some(with_estimates(self.rtt, srtt, rttvar));
    }
}

/// CoAP's timeout.
pub(crate) const ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "coap",
    about: "CoAP's timeout: always the same, whatever the round-trip times are. The backoff `coap` doubles \
            it and adds CoAP's random part.",
    source: "RFC 7252 4.2 and 4.8",
    params: &[Param::duration(
        "ack_timeout",
        Duration::from_secs(2),
        Duration::from_millis(1)..=Duration::from_secs(3600),
        "ACK_TIMEOUT, the timeout before backoff (4.8); below one second only with other means against \
         congestion (4.8.1)",
    )],
    build: |p| Box::new(Coap { ack_timeout: p.duration("ack_timeout"), rtt: None }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use crate::harness::sample;

    #[test]
    fn samples_do_not_change_the_timeout() {
        let mut e = (ENTRY.build)(&Params::defaults(ENTRY.params));
        assert_eq!((e.initial_rto(), e.rto()), (Duration::from_secs(2), Duration::from_secs(2)), "4.8");
        for secs in [1, 10, 3] {
            e.on_sample(sample(Duration::from_secs(20 + secs), Duration::from_secs(secs)));
            assert_eq!(e.rto(), Duration::from_secs(2));
        }
        assert_eq!(
            e.rtt().map(|r| (r.min_rtt, r.latest)),
            Some((Duration::from_secs(1), Duration::from_secs(3)))
        );
    }
}
