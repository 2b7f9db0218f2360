use std::sync::Arc;

use ackclock_units::{Bytes, Duration, SeqNumber};

use super::initial::{INITIAL_SEGS, INITIAL_WINDOW, InitialWindow};
use super::standard::{Standard, below_threshold, half_flight, may_grow, reduced_to};
use crate::{
    AckInfo, CongestionControl, Control, Entry, Family, Feedback, Needs, Param, Params, Phase, Policy,
    PrivateState, SenderView, SlowStart, Window,
};

/// A window that keeps a few segments in the queue, by the difference between the rate that it would have
/// without a queue and the rate that it has.
#[derive(Debug)]
struct Vegas {
    rules: Arc<Rules>,
    standard: Standard,
    /// Smallest round-trip time of all, and of this round, µs; `NONE` without one.
    base_rtt: u32,
    round_min: u32,
    /// Round-trip times seen in this round.
    samples: u32,
    /// What is acknowledged at the end of this round.
    round_end: SeqNumber,
    /// Since then, acks have shown what a whole flight sees; false after a repair or an idle period.
    running: bool,
}

#[derive(Debug)]
struct Rules {
    alpha: u64,
    beta: u64,
    gamma: u64,
    initial: InitialWindow,
}

const NONE: u32 = u32::MAX;

/// Fewer round-trip times than this may all be of delayed acks (Linux's tcp_vegas_cong_avoid).
const MIN_SAMPLES: u32 = 3;

impl Vegas {
    fn new(p: &Params) -> Self {
        Self {
            rules: p.shared(|p| Rules {
                alpha: p.count("alpha_segs"),
                beta: p.count("beta_segs"),
                gamma: p.count("gamma_segs"),
                initial: InitialWindow::new(p),
            }),
            standard: Standard::default(),
            base_rtt: NONE,
            round_min: NONE,
            samples: 0,
            round_end: SeqNumber(0),
            running: false,
        }
    }

    fn begin_round(&mut self, v: &SenderView) {
        (self.round_end, self.round_min, self.samples) = (v.snd_nxt, NONE, 0);
    }

    fn sample(&mut self, rtt: Duration) {
        // Never zero.
        let rtt = u32::try_from(rtt.as_nanos() / 1000).unwrap_or(NONE - 2) + 1;
        self.base_rtt = self.base_rtt.min(rtt);
        self.round_min = self.round_min.min(rtt);
        self.samples = self.samples.saturating_add(1);
    }

    fn on_ack(&mut self, a: &AckInfo, slow_start: &mut dyn SlowStart, v: &SenderView) -> Window {
        if let Some(rtt) = a.rtt {
            self.sample(rtt);
        }
        if v.phase != Phase::Open {
            self.running = false;
            return self.standard.grown(a, slow_start, v);
        }
        if !std::mem::replace(&mut self.running, true) {
            self.begin_round(v);
        }
        if v.snd_una <= self.round_end {
            // Within a round only slow start grows the window.
            return if v.window.cwnd < v.window.ssthresh && may_grow(a) {
                below_threshold(a, slow_start, v)
            } else {
                v.window
            };
        }
        let window = if self.samples < MIN_SAMPLES {
            self.standard.grown(a, slow_start, v)
        } else {
            self.once_a_round(a, slow_start, v)
        };
        self.begin_round(v);
        window
    }

    fn once_a_round(&self, a: &AckInfo, slow_start: &mut dyn SlowStart, v: &SenderView) -> Window {
        let (smss, Window { cwnd, ssthresh }) = (u64::from(v.smss), v.window);
        let (rtt, base) = (u64::from(self.round_min), u64::from(self.base_rtt));
        let segs = (cwnd / smss).min(1 << 31);
        // Segments beyond those that the path holds without a queue: Diff of the paper, times BaseRTT.
        let diff = segs * (rtt - base) / base;
        let slow = cwnd < ssthresh;
        let slows_down = diff > if slow { self.rules.gamma } else { self.rules.beta };
        let cwnd = if slow && slows_down {
            // The window that has the present rate without a queue, and one for the rounding.
            cwnd.min((segs * base / rtt + 1) * smss)
        } else if slow {
            return if may_grow(a) { below_threshold(a, slow_start, v) } else { v.window };
        } else if slows_down {
            cwnd.saturating_sub(smss)
        } else if diff < self.rules.alpha && may_grow(a) {
            cwnd.saturating_add(smss)
        } else {
            cwnd
        };
        let cwnd = cwnd.max((2 * smss).min(v.window.cwnd));
        // Linux's tcp_vegas_ssthresh and tcp_current_ssthresh: never above the window once it was too large,
        // even if rounding leaves the window as it is, and three quarters of the window at least.
        let ssthresh = if slows_down { ssthresh.min(cwnd) } else { ssthresh };
        Window { cwnd, ssthresh: ssthresh.max(cwnd / 4 * 3).max(2 * smss) }
    }
}

impl Policy for Vegas {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("base_rtt_us", f64::from(self.base_rtt));
        state.number("round_min_us", f64::from(self.round_min));
    }
}

impl CongestionControl for Vegas {
    fn family(&self) -> Family {
        Family::DelayBased
    }

    fn needs(&self) -> Needs {
        Needs { sends: true, ..Needs::default() }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        Window { cwnd: self.rules.initial.bytes(v), ssthresh: Bytes::MAX }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        match f {
            Feedback::Ack(a, slow_start) => self.on_ack(a, slow_start, v),
            Feedback::Congestion(c) => {
                self.standard.restart();
                self.running = false;
                reduced_to(half_flight(v), c, v)
            }
            f => {
                let restarts = match f {
                    Feedback::Idle(_) => true,
                    Feedback::Sent { bytes, .. } => v.pipe <= u64::from(bytes),
                    _ => false,
                };
                if restarts {
                    // Nothing was in the network (Linux's tcp_vegas_cwnd_event): the path may be another one
                    // by now.
                    (self.base_rtt, self.running) = (NONE, false);
                }
                v.default_window(&f)
            }
        }
        .into()
    }
}

/// Vegas.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "vegas",
    about: "Vegas: once a round trip the window grows by a segment if fewer than alpha of its segments are in \
            the queue, and shrinks by one if more than beta are.",
    source: "Brakmo and Peterson 1995; Linux's tcp_vegas",
    params: &[
        Param::count("alpha_segs", 2, 0..=1000, "alpha, segments in the queue below which the window grows"),
        Param::count("beta_segs", 4, 1..=1000, "beta, segments in the queue above which it shrinks"),
        Param::count(
            "gamma_segs",
            1,
            0..=1000,
            "gamma, segments in the queue above which slow start is over",
        ),
        INITIAL_WINDOW,
        INITIAL_SEGS,
    ],
    build: |p| Box::new(Vegas::new(p)),
};

#[cfg(test)]
mod tests {
    use super::super::tests::{After, window, with};
    use super::*;
    use crate::Congestion;
    use crate::harness::ack;

    struct Run {
        w: Box<dyn CongestionControl>,
        v: SenderView,
    }

    impl Run {
        /// Two rounds that set the smallest round-trip time to 100 ms; the next one is judged by itself.
        fn new(segs: u64, ssthresh: u64) -> Self {
            Self::with(&[], segs, ssthresh)
        }

        fn with(params: &[(&str, &str)], segs: u64, ssthresh: u64) -> Self {
            let mut run = Self { w: with("vegas", params), v: window(segs * 1000, ssthresh) };
            run.w.start(&run.v);
            run.round(100, 10);
            run.round(100, 10);
            run.v.window = window(segs * 1000, ssthresh).window;
            run
        }

        /// A round of acks with that round-trip time, and the ack with which it ends.
        fn round(&mut self, rtt_ms: u64, acks: u64) -> u64 {
            let end = self.v.snd_nxt;
            for i in 1..=acks {
                self.v.snd_una = if i == acks { end + 1 } else { self.v.snd_una + 1 };
                self.v.snd_nxt = end + 1000;
                let a = AckInfo { rtt: Some(Duration::from_millis(rtt_ms)), ..ack(1, 1000) };
                self.v.window = self.w.after_ack(&a, &self.v);
            }
            self.v.window.cwnd / 1000
        }
    }

    #[test]
    fn two_to_four_segments_stay_in_the_queue() {
        // cwnd (RTT - BaseRTT) / BaseRTT whole segments: below 2 the window grows, above 4 it shrinks. Times
        // count from 1 µs on, so that a window of 20 has 1.9998 segments in the queue at 110 ms.
        for (segs, rtt_ms, after) in [
            (20, 100, 21),
            (20, 109, 21),
            (20, 111, 20),
            (20, 124, 20),
            (20, 126, 19),
            (20, 200, 19),
            (40, 104, 41),
            (40, 106, 40),
            (40, 112, 40),
            (40, 113, 39),
        ] {
            let mut run = Run::new(segs, 2000);
            assert_eq!(run.round(rtt_ms, 10), after, "{segs} segments, {rtt_ms} ms");
        }
    }

    #[test]
    fn slow_start_ends_with_more_than_a_segment_in_the_queue() {
        let mut run = Run::new(20, u64::MAX);
        // Two acks grow it to 22, of which 22 * 0.15 = 3 wait: int(22 / 1.15) + 1 = 20.
        assert_eq!(run.round(115, 3), 20);
        assert_eq!(run.v.window.ssthresh, 20_000);
        // Where the rounding leaves the window as it is, slow start is over all the same: with gamma 0 and 21
        // segments at 106 ms, int(21 * 0.06) = 1 waits, and int(21 / 1.06) + 1 is 20, of two more 22.
        let mut run = Run::with(&[("gamma_segs", "0")], 20, u64::MAX);
        assert_eq!((run.round(106, 3), run.v.window.ssthresh), (21, 21_000));
        // Without a queue it doubles on.
        let mut run = Run::new(20, u64::MAX);
        assert_eq!((run.round(100, 10), run.v.window.ssthresh), (30, u64::MAX));
    }

    #[test]
    fn sending_into_an_empty_network_measures_the_path_anew() {
        let base = |run: &Run| {
            let mut state = PrivateState::default();
            run.w.private_state(&mut state);
            state.0.iter().find(|(name, _)| *name == "base_rtt_us").expect("it is traced").1
        };
        // 100 ms, and the microsecond that Linux adds.
        let mut run = Run::new(20, 2000);
        assert_eq!(base(&run), 100_001.0);
        let sent = || Feedback::Sent { bytes: 1000, retransmission: false, app_limited: false };
        run.v.pipe = 2000;
        run.w.on(sent(), &run.v);
        assert_eq!(base(&run), 100_001.0, "a segment was in the network");
        run.v.pipe = 1000;
        run.w.on(sent(), &run.v);
        // The first ack begins a round, so that it ends with what was sent by then.
        run.round(150, 1);
        assert_eq!(run.round(150, 10), 21, "150 ms are the path now");
        assert_eq!(base(&run), 150_001.0);
    }

    #[test]
    fn three_samples_are_needed() {
        // With two it grows as Reno does: not yet, a thousand bytes of twenty being acknowledged.
        let mut run = Run::new(20, 2000);
        assert_eq!(run.round(200, 2), 20);
        assert_eq!(run.round(200, 3), 19);
    }

    #[test]
    fn a_loss_halves_it_and_the_next_flight_is_not_judged() {
        let mut run = Run::new(20, 2000);
        run.v.flight_size = 20_000;
        run.v.window = run.w.after_congestion(Congestion::Loss, &run.v);
        assert_eq!(run.v.window, Window { cwnd: 10_000, ssthresh: 10_000 });
        // The first ack begins a round that ends with what was sent by then.
        run.v.snd_una = run.v.snd_nxt;
        run.v.snd_nxt += 1000;
        let a = AckInfo { rtt: Some(Duration::from_millis(300)), ..ack(1, 1000) };
        assert_eq!(run.w.after_ack(&a, &run.v).cwnd, 10_000);
        assert_eq!(run.round(300, 5), 9);
    }
}
