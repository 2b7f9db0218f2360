use ackclock_units::Duration;

use super::interval::{DECREASE, INITIAL, Interval, MAX, MIN};
use crate::{Entry, Param, Policy, PrivateState, RateControl};

/// Takes a constant off the interval with every packet: the rate grows without bound.
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

/// The tempting mistake of footnote 13.
pub(crate) const ENTRY: Entry<dyn RateControl> = Entry {
    name: "constant-decrement",
    about: "Takes a constant off the interval with each packet sent (the mistake that the paper warns of), \
            doubles it at congestion.",
    source: "J-A15 (negative control), J-E15",
    params: &[
        Param::duration(
            "step",
            Duration::from_millis(100),
            Duration::ZERO..=Duration::from_secs(3600),
            "c, what each packet sent takes off the interval",
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
