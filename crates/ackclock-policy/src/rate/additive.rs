use ackclock_units::Duration;

use super::interval::{DECREASE, INITIAL, Interval, MAX, MIN};
use crate::{Entry, Param, Policy, PrivateState, RateControl};

/// Adds a constant to the rate with every packet sent: additive increase for traffic without a window.
#[derive(Debug)]
struct Additive {
    alpha: f64,
    interval: Interval,
}

impl Policy for Additive {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("interval", self.interval.get());
    }
}

impl RateControl for Additive {
    fn on_sent(&mut self) -> Duration {
        let i = self.interval.get();
        // J-E15: 1/I grows by 1/alpha.
        self.interval.set(self.alpha * i / (self.alpha + i));
        self.interval.duration()
    }

    fn on_congestion(&mut self) {
        self.interval.stretch();
    }
}

/// Footnote 13's rule.
pub(crate) const ENTRY: Entry<dyn RateControl> = Entry {
    name: "additive",
    about: "Rate-based congestion avoidance: each packet sent adds 1/alpha to the rate (I = alpha I/(alpha + \
            I)), and congestion halves it.",
    source: "Jacobson & Karels 1988 (J-A15, J-E15)",
    params: &[
        Param::duration(
            "alpha",
            Duration::from_secs(10),
            Duration::from_micros(1)..=Duration::from_secs(1_000_000),
            "time constant of the increase: each packet sent raises the rate by 1/alpha",
        ),
        INITIAL,
        DECREASE,
        MIN,
        MAX,
    ],
    build: |p| Box::new(Additive { alpha: p.duration("alpha").as_secs_f64(), interval: Interval::new(p) }),
};
