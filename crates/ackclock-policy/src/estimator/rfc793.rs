use ackclock_units::Duration;

use super::smooth::{bounded, initial_rto, max_rto, min_rto, smooth};
use crate::{Entry, Param, Policy, Rtt, RttEstimator, RttSample};

/// Smoothed mean times a constant: blind to how much the samples vary.
#[derive(Debug)]
struct Rfc793 {
    gain: f64,
    beta: f64,
    min_rto: Duration,
    max_rto: Duration,
    initial_rto: Duration,
    rtt: Option<Rtt>,
}

impl Policy for Rfc793 {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl RttEstimator for Rfc793 {
    fn on_sample(&mut self, s: RttSample) {
        let (srtt, min_rtt) = self.rtt.map_or((s.rtt, s.rtt), |old| (smooth(old.srtt, s.rtt, self.gain), old.min_rtt.min(s.rtt)));
        self.rtt = Some(Rtt { latest: s.rtt, srtt, rttvar: Duration::ZERO, min_rtt });
    }

    fn rtt(&self) -> Option<Rtt> {
        self.rtt
    }

    fn rto(&self) -> Duration {
        self.rtt.map_or(self.initial_rto, |rtt| bounded(rtt.srtt.mul_f64(self.beta), self.min_rto, self.max_rto))
    }

    fn initial_rto(&self) -> Duration {
        self.initial_rto
    }
}

/// RFC 793's timer.
pub(crate) const ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "rfc793",
    about: "The smoothed round-trip time times two (RFC 793); the first sample sets it.",
    source: "J-A3; RFC 793 p. 41",
    params: &[
        Param::ratio("alpha", 0.9, 0.0..=1.0, "weight of the old estimate"),
        Param::ratio("beta", 2.0, 1.0..=16.0, "timeout in smoothed round-trip times"),
        min_rto(Duration::from_secs(1)),
        max_rto(Duration::from_secs(60)),
        initial_rto(Duration::from_secs(3)),
    ],
    build: |p| {
        Box::new(Rfc793 {
            gain: 1.0 - p.ratio("alpha"),
            beta: p.ratio("beta"),
            min_rto: p.duration("min_rto"),
            max_rto: p.duration("max_rto"),
            initial_rto: p.duration("initial_rto"),
            rtt: None,
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use crate::harness::sample;

    #[test]
    fn the_filter_of_rfc_793() {
        // J-E3: from R = 1, M = 2: R = 1.1, rto = 2.2.
        let mut e = (ENTRY.build)(&Params::defaults(ENTRY.params));
        assert_eq!(e.rto(), Duration::from_secs(3));
        e.on_sample(sample(Duration::from_secs(1), Duration::from_secs(1)));
        e.on_sample(sample(Duration::from_secs(3), Duration::from_secs(2)));
        assert_eq!(e.rtt().expect("sampled").srtt, Duration::from_millis(1100));
        assert_eq!(e.rto(), Duration::from_millis(2200));
    }

    #[test]
    fn it_falls_behind_a_loaded_path() {
        // J-X12: it sees no variation, so samples that jump from 1 to 2.5 under-run it at once.
        let mut e = (ENTRY.build)(&Params::defaults(ENTRY.params));
        (1..20).for_each(|i| e.on_sample(sample(Duration::from_secs(i), Duration::from_secs(1))));
        assert!(e.rto() < Duration::from_millis(2500));
    }
}
