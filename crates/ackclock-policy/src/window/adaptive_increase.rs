use std::sync::Arc;

use ackclock_units::Bytes;

use super::growth::Remainder;
use super::initial::{INITIAL_SEGS, INITIAL_WINDOW, InitialWindow};
use super::standard::{below_threshold, half_flight, may_grow, reduced_to};
use crate::{
    AckInfo, CongestionControl, Control, Entry, Feedback, Param, Params, Policy, PrivateState, SenderView,
    SlowStart, Window,
};

/// Reno with a second loop: the increment follows the path so that losses come a given number of round trips
/// apart, few segments on a short pipe and many on a long one.
#[derive(Debug)]
struct AdaptiveIncrease {
    rules: Arc<Rules>,
    remainder: Remainder,
    /// u, segments for each round trip.
    increment: f64,
    /// Round trips since the last loss, counted by windows of bytes that were acknowledged.
    rounds: f64,
    /// Those at which the increment doubles if no loss comes.
    doubles_at: f64,
}

#[derive(Debug)]
struct Rules {
    rounds: f64,
    initial_increment: f64,
    least: f64,
    most: f64,
    initial: InitialWindow,
}

impl AdaptiveIncrease {
    fn new(p: &Params) -> Self {
        let rules = p.shared(|p| Rules {
            rounds: p.ratio("rounds"),
            initial_increment: p.ratio("initial_segs_added"),
            least: p.ratio("least_segs_added"),
            most: p.ratio("most_segs_added"),
            initial: InitialWindow::new(p),
        });
        let (increment, doubles_at) = (rules.initial_increment, 2.0 * rules.rounds);
        Self { rules, remainder: Remainder::default(), increment, rounds: 0.0, doubles_at }
    }

    fn grown(&mut self, a: &AckInfo, slow_start: &mut dyn SlowStart, v: &SenderView) -> Window {
        if !may_grow(a) {
            return v.window;
        }
        if v.window.cwnd < v.window.ssthresh {
            return below_threshold(a, slow_start, v);
        }
        let (smss, cwnd) = (f64::from(v.smss), self.remainder.with(v.window.cwnd.max(1)));
        self.rounds += a.newly_acked as f64 / cwnd;
        if self.rounds > self.doubles_at {
            self.adapt(2.0);
            self.doubles_at += self.rules.rounds;
        }
        let growth = self.increment * smss * smss / cwnd;
        Window { cwnd: v.window.cwnd.saturating_add(self.remainder.take(growth)), ..v.window }
    }

    fn adapt(&mut self, factor: f64) {
        // A range whose ends are given the wrong way round has one value, its least.
        let most = self.rules.most.max(self.rules.least);
        self.increment = (self.increment * factor).clamp(self.rules.least, most);
    }

    /// A loss: the increment by the root of how far apart losses come, at most by half or twice.
    fn loss(&mut self) {
        if self.rounds > 0.0 {
            self.adapt((self.rounds / self.rules.rounds).sqrt().clamp(0.5, 2.0));
        }
        (self.rounds, self.doubles_at) = (0.0, 2.0 * self.rules.rounds);
    }
}

impl Policy for AdaptiveIncrease {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("increment_segs", self.increment);
        state.number("rounds", self.rounds);
    }
}

impl CongestionControl for AdaptiveIncrease {
    fn start(&mut self, v: &SenderView) -> Control {
        Window { cwnd: self.rules.initial.bytes(v), ssthresh: Bytes::MAX }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        match f {
            Feedback::Ack(a, slow_start) => self.grown(a, slow_start, v),
            Feedback::Congestion(c) => {
                self.loss();
                reduced_to(half_flight(v), c, v)
            }
            f => v.default_window(&f),
        }
        .into()
    }
}

/// An increment that adapts to the path.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "adaptive-increase",
    about: "Reno whose increment adapts to the path: losses come about so many round trips apart.",
    source: "a candidate for the second-order control that appendix D of Jacobson & Karels 1988 announces \
             (J-X20)",
    params: &[
        Param::ratio("rounds", 16.0, 1.0..=1000.0, "round trips between losses that are aimed at"),
        Param::ratio(
            "initial_segs_added",
            1.0,
            0.01..=1000.0,
            "segments added per round trip, to begin with",
        ),
        Param::ratio("least_segs_added", 0.125, 0.01..=1000.0, "least segments added per round trip"),
        Param::ratio("most_segs_added", 64.0, 0.01..=1000.0, "most segments added per round trip"),
        INITIAL_WINDOW,
        INITIAL_SEGS,
    ],
    build: |p| Box::new(AdaptiveIncrease::new(p)),
};

#[cfg(test)]
mod tests {
    use super::super::tests::{After, window, with};
    use super::*;
    use crate::Congestion;
    use crate::harness::ack;

    fn increment(w: &dyn CongestionControl) -> f64 {
        let mut state = PrivateState::default();
        w.private_state(&mut state);
        state.0.iter().find(|(name, _)| *name == "increment_segs").expect("it is traced").1
    }

    /// The increment after a loss that comes so many windows of acks after the one before.
    fn after(rounds: u64) -> f64 {
        let mut w = with("adaptive-increase", &[]);
        let mut v = window(100_000, 2000);
        v.flight_size = 100_000;
        for _ in 0..rounds * 100 {
            w.after_ack(&ack(1, 1000), &v);
        }
        w.after_congestion(Congestion::Loss, &v);
        increment(w.as_ref())
    }

    #[test]
    fn losses_close_together_lower_the_increment_and_rare_ones_raise_it() {
        assert!((after(16) - 1.0).abs() < 0.01, "as often as aimed at");
        assert!((after(8) - 0.707).abs() < 0.01, "twice as often");
        assert!((after(2) - 0.5).abs() < 1e-9, "at most by half");
        assert!((after(31) - 1.39).abs() < 0.02, "half as often");
    }

    #[test]
    fn without_losses_it_doubles() {
        let mut w = with("adaptive-increase", &[]);
        let v = window(10_000, 2000);
        for _ in 0..330 {
            w.after_ack(&ack(1, 1000), &v);
        }
        assert_eq!(increment(w.as_ref()), 2.0, "after 33 windows, of which 32 are twice what is aimed at");
    }

    #[test]
    fn its_bounds_hold() {
        let mut w = with("adaptive-increase", &[("least_segs_added", "0.5")]);
        let mut v = window(10_000, 2000);
        v.flight_size = 10_000;
        for _ in 0..5 {
            w.after_ack(&ack(1, 1000), &v);
            v.window = w.after_congestion(Congestion::Loss, &v);
            v.window = window(10_000, 2000).window;
        }
        assert_eq!(increment(w.as_ref()), 0.5);
    }
}
