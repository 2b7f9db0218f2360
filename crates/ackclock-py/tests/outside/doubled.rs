//! An estimator without memory: the timeout is twice the latest round-trip time.

use ackclock_policy::{Entry, Param, Policy, Rtt, RttEstimator, RttSample};
use ackclock_units::Duration;

#[derive(Debug)]
struct Doubled {
    initial_rto: Duration,
    rtt: Option<Rtt>,
}

impl Policy for Doubled {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl RttEstimator for Doubled {
    fn on_sample(&mut self, s: RttSample) {
        let min_rtt = self.rtt.map_or(s.rtt, |r| r.min_rtt.min(s.rtt));
        self.rtt = Some(Rtt { latest: s.rtt, srtt: s.rtt, rttvar: Duration::ZERO, min_rtt });
    }

    fn rtt(&self) -> Option<Rtt> {
        self.rtt
    }

    fn rto(&self) -> Duration {
        self.rtt.map_or(self.initial_rto, |r| r.latest * 2)
    }

    fn initial_rto(&self) -> Duration {
        self.initial_rto
    }
}

pub static ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "doubled",
    about: "Twice the latest round-trip time.",
    source: "a test",
    params: &[Param::duration(
        "initial_rto",
        Duration::from_secs(1),
        Duration::from_millis(1)..=Duration::from_secs(60),
        "the timeout before the first sample",
    )],
    build: |p| Box::new(Doubled { initial_rto: p.duration("initial_rto"), rtt: None }),
};
