use ackclock_units::Duration;

use super::interval::{DECREASE, INITIAL, Interval, MAX, MIN};
use crate::{Entry, Param, Policy, PrivateState, RateControl};

/// Subtracts a constant from the interval with every packet sent: the rate grows without bound.
#[derive(Debug)]
struct ConstantDecrement {
    step: f64,
    interval: Interval,
}

impl Policy for ConstantDecrement {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("interval", self.interval.get());
    }
}

impl RateControl for ConstantDecrement {
    fn on_sent(&mut self) -> Duration {
        self.interval.set(self.interval.get() - self.step);
        self.interval.duration()
    }

    fn on_congestion(&mut self) {
        self.interval.stretch();
    }
}

/// The mistake that footnote 13 warns of.
pub(crate) const ENTRY: Entry<dyn RateControl> = Entry {
    name: "constant-decrement",
    about: "Subtracts a constant from the interval with each packet sent (the mistake that the paper warns \
            of), and doubles the interval at congestion.",
    source: "a negative control in Jacobson & Karels 1988 (J-A15, J-E15)",
    params: &[
        Param::duration(
            "step",
            Duration::from_millis(100),
            Duration::ZERO..=Duration::from_secs(3600),
            "c, subtracted from the interval with each packet sent",
        ),
        INITIAL,
        DECREASE,
        MIN,
        MAX,
    ],
    build: |p| {
        Box::new(ConstantDecrement { step: p.duration("step").as_secs_f64(), interval: Interval::new(p) })
    },
};
