use std::sync::Arc;

use ackclock_units::Bytes;

use super::growth::Remainder;
use super::initial::{INITIAL_SEGS, INITIAL_WINDOW, InitialWindow};
use super::standard::{at_least_two, below_threshold, may_grow, reduced_to};
use crate::{
    AckInfo, CongestionControl, Control, Entry, Feedback, Param, Params, Policy, PrivateState, SenderView,
    SlowStart, Window,
};

/// Additive increase, and a decrease by a constant: a loss costs about `c` round trips to regain whatever the
/// window, so that the loss that a window bears falls with the window and not with its square.
#[derive(Debug)]
struct ConstantDecrease {
    rules: Arc<Rules>,
    remainder: Remainder,
}

#[derive(Debug)]
struct Rules {
    decrease_segs: f64,
    increase_segs: f64,
    initial: InitialWindow,
    initial_ssthresh: Bytes,
}

impl ConstantDecrease {
    fn new(p: &Params) -> Self {
        Self {
            rules: p.shared(|p| Rules {
                decrease_segs: p.ratio("decrease_segs"),
                increase_segs: p.ratio("increase_segs"),
                initial: InitialWindow::new(p),
                initial_ssthresh: p.bytes("initial_ssthresh"),
            }),
            remainder: Remainder::default(),
        }
    }

    fn grown(&mut self, a: &AckInfo, slow_start: &mut dyn SlowStart, v: &SenderView) -> Window {
        if !may_grow(a) {
            return v.window;
        }
        if v.window.cwnd < v.window.ssthresh {
            return below_threshold(a, slow_start, v);
        }
        let smss = f64::from(v.smss);
        let growth = self.rules.increase_segs * smss * smss / self.remainder.with(v.window.cwnd.max(1));
        Window { cwnd: v.window.cwnd.saturating_add(self.remainder.take(growth)), ..v.window }
    }

    /// The window in use less the constant, at least two segments.
    fn reduced(&self, v: &SenderView) -> Bytes {
        let constant = (self.rules.decrease_segs * f64::from(v.smss)) as Bytes;
        at_least_two(v.flight_size.min(v.window.cwnd).saturating_sub(constant), v)
    }
}

impl Policy for ConstantDecrease {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("remainder", self.remainder.with(0));
    }
}

impl CongestionControl for ConstantDecrease {
    fn start(&mut self, v: &SenderView) -> Control {
        let ssthresh =
            if self.rules.initial_ssthresh == 0 { Bytes::MAX } else { self.rules.initial_ssthresh };
        Window { cwnd: self.rules.initial.bytes(v), ssthresh }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        match f {
            Feedback::Ack(a, slow_start) => self.grown(a, slow_start, v),
            Feedback::Congestion(c) => reduced_to(self.reduced(v), c, v),
            f => v.default_window(&f),
        }
        .into()
    }
}

/// A decrease by a constant.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "constant-decrease",
    about: "Slow start, then additive increase; a loss takes a constant number of segments off the window.",
    source: "a candidate for the change that footnote 6 of Jacobson & Karels 1988 announces (J-X19)",
    params: &[
        Param::ratio("decrease_segs", 4.0, 0.0..=10_000.0, "c, segments that a loss takes off the window"),
        Param::ratio(
            "increase_segs",
            1.0,
            0.0..=1000.0,
            "u, segments added per round trip in congestion avoidance",
        ),
        INITIAL_WINDOW,
        INITIAL_SEGS,
        Param::bytes(
            "initial_ssthresh",
            0,
            0..=1 << 40,
            "slow-start threshold of a new connection; 0B for none",
        ),
    ],
    build: |p| Box::new(ConstantDecrease::new(p)),
};

#[cfg(test)]
mod tests {
    use super::super::tests::{After, window, with};
    use super::*;
    use crate::Congestion;
    use crate::harness::ack;

    #[test]
    fn a_loss_takes_off_the_constant_whatever_the_window() {
        for (segs, c, left) in [(40, "4", 36), (10, "4", 6), (5, "4", 2), (40, "8", 32)] {
            let mut w = with("constant-decrease", &[("decrease_segs", c)]);
            let mut v = window(segs * 1000, 2000);
            v.flight_size = segs * 1000;
            let after = w.after_congestion(Congestion::Loss, &v);
            assert_eq!(after, Window { cwnd: left * 1000, ssthresh: left * 1000 }, "{segs} segments");
        }
    }

    #[test]
    fn it_grows_by_a_segment_in_a_round_trip() {
        let mut w = with("constant-decrease", &[]);
        let mut v = window(10_000, 2000);
        for _ in 0..10 {
            v.window = w.after_ack(&ack(1, 1000), &v);
        }
        // 1/10 + 1/10.1 + ... for ten acks.
        assert!((10_940..=11_000).contains(&v.window.cwnd), "{}", v.window.cwnd);
    }
}
