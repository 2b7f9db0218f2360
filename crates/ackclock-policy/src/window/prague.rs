use std::sync::Arc;

use ackclock_units::{Bytes, Duration, Instant, Rate};

use super::dctcp::MarkedFraction;
use super::growth::{Remainder, counted};
use super::initial::{INITIAL_SEGS, INITIAL_WINDOW, InitialWindow};
use super::standard::{Standard, at_least_two, half_flight, reduced_to};
use crate::{
    AckInfo, Congestion, CongestionControl, Control, Entry, Feedback, Needs, Pacing, Param, Params, Phase,
    Policy, PrivateState, SenderView, SlowStart, Window,
};

/// DCTCP for the Internet: paced, growing on every unmarked byte, and as fast as others of other round trips.
#[derive(Debug)]
struct Prague {
    rules: Arc<Rules>,
    /// Of the connections that fall back to Reno.
    standard: Standard,
    estimate: MarkedFraction,
    /// When the estimate was updated.
    updated_at: Instant,
    /// When marks reduced the window; `None` before the first one.
    reduced_at: Option<Instant>,
    /// Round trips since slow start ended.
    rounds: u32,
    remainder: Remainder,
    /// The peer counts marks, so that the connection is of the L4S service.
    accurate: bool,
}

#[derive(Debug)]
struct Rules {
    rtt_virt: Duration,
    transition: u32,
    burst: Duration,
    initial: InitialWindow,
}

impl Prague {
    fn new(p: &Params) -> Self {
        Self {
            rules: p.shared(|p| Rules {
                rtt_virt: p.duration("rtt_virt"),
                transition: p.count("transition_rounds") as u32,
                burst: p.duration("burst"),
                initial: InitialWindow::new(p),
            }),
            standard: Standard::default(),
            // Until the first mark shows that a queue marks, nothing is learnt from its absence.
            estimate: MarkedFraction::new(1.0, p.ratio("gain")),
            updated_at: Instant::ZERO,
            reduced_at: None,
            rounds: 0,
            remainder: Remainder::default(),
            accurate: false,
        }
    }

    /// The round trip that it behaves as if it had, and the one that it has; `None` while it is fast in the
    /// first rounds, or when its own is the longer one.
    fn virtual_rtt(&self, v: &SenderView) -> Option<(Duration, Duration)> {
        let srtt = v.rtt.map(|rtt| rtt.srtt)?;
        let slow = self.rounds >= self.rules.transition && v.window.cwnd >= v.window.ssthresh;
        (slow && srtt < self.rules.rtt_virt).then_some((self.rules.rtt_virt, srtt))
    }

    /// True when less than a virtual round trip has passed since `at`.
    fn is_early(&self, at: Instant, v: &SenderView) -> bool {
        self.virtual_rtt(v).is_some_and(|(rtt, _)| v.now.since(at) < rtt)
    }

    fn count(&mut self, a: &AckInfo, v: &SenderView) {
        self.estimate.count(a);
        if !self.estimate.is_over(v) || self.is_early(self.updated_at, v) {
            return;
        }
        if self.reduced_at.is_some() {
            self.estimate.update(v);
        } else {
            self.estimate.begin(v);
        }
        self.updated_at = v.now;
        if v.window.cwnd >= v.window.ssthresh {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    /// Growth on what was delivered unmarked, also while the window is being reduced for marks.
    fn grown(&mut self, a: &AckInfo, slow_start: &mut dyn SlowStart, v: &SenderView) -> Window {
        let unmarked = a.delivered.saturating_sub(a.ce_bytes).min(a.newly_acked);
        if v.phase == Phase::Recovery || unmarked == 0 || !a.validated {
            return v.window;
        }
        if v.window.cwnd < v.window.ssthresh {
            return slow_start.on_ack(a, counted(unmarked, v.smss, 1), v).applied_to(v);
        }
        // A segment for each window in its round trip; of the shorter ones, one in each virtual round trip,
        // for the rate that the window has in that.
        let scale = self.virtual_rtt(v).map_or(1.0, |(rtt_virt, rtt)| {
            let ratio = rtt.as_secs_f64() / rtt_virt.as_secs_f64();
            ratio * ratio
        });
        let bytes = unmarked as f64 * f64::from(v.smss) / self.remainder.with(v.window.cwnd) * scale;
        Window { cwnd: v.window.cwnd.saturating_add(self.remainder.take(bytes)), ..v.window }
    }

    fn cut(&mut self, c: Congestion, v: &SenderView) -> Window {
        self.standard.restart();
        if c != Congestion::Ecn || !self.accurate {
            return reduced_to(half_flight(v), c, v);
        }
        if self.reduced_at.is_some_and(|at| self.is_early(at, v)) {
            return v.window;
        }
        self.reduced_at = Some(v.now);
        reduced_to(at_least_two(self.estimate.left(v.window.cwnd), v), c, v)
    }

    /// The window in a round trip, or what is in flight where that is more, as after a reduction (2.5.1); twice
    /// that in the first half of slow start.
    fn pacing(&self, w: Window, v: &SenderView) -> Option<Pacing> {
        let srtt = v.rtt.map(|rtt| rtt.srtt).filter(|srtt| !srtt.is_zero())?;
        let used = w.cwnd.max(v.pipe);
        let bytes = if w.cwnd < w.ssthresh / 2 { 2 * used } else { used };
        let rate = Rate::from_transfer(bytes, srtt);
        let burst = rate.bits_per_sec() as f64 / 8.0 * self.rules.burst.as_secs_f64();
        Some(Pacing { rate, quantum: (burst as u32).max(v.smss) })
    }
}

impl Policy for Prague {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("alpha", self.estimate.alpha);
        state.number("rounds", f64::from(self.rounds));
    }
}

impl CongestionControl for Prague {
    fn needs(&self) -> Needs {
        Needs { every_ack: true, ect1: true, ..Needs::default() }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        self.accurate = v.counts_marks;
        self.estimate.start(v);
        self.updated_at = v.now;
        let window = Window { cwnd: self.rules.initial.bytes(v), ssthresh: Bytes::MAX };
        Control { window, pacing: self.pacing(window, v) }
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        let window = match f {
            Feedback::Ack(a, slow_start) if self.accurate && v.phase != Phase::Loss => {
                self.count(a, v);
                self.grown(a, slow_start, v)
            }
            Feedback::Ack(a, slow_start) => self.standard.grown(a, slow_start, v),
            Feedback::Congestion(c) => self.cut(c, v),
            f => v.default_window(&f),
        };
        Control { window, pacing: self.pacing(window, v) }
    }
}

/// Prague.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "prague",
    about: "Prague: DCTCP for L4S, paced, with ECT(1) on its packets; as slow with a short round trip as with \
            one of 25 ms. Needs `accecn` at both ends, and is Reno without.",
    source: "draft-briscoe-iccrg-prague-congestion-control-04, checked by its implementations and not by its \
             text, which was not at hand: Linux's tcp_prague of the L4S team, QUICHE's PragueSender",
    params: &[
        Param::ratio("gain", 0.0625, 0.001..=1.0, "g, weight of the last round trip in alpha (2.3.2)"),
        Param::duration(
            "rtt_virt",
            Duration::from_millis(25),
            Duration::ZERO..=Duration::from_secs(1),
            "round trip that it has at least, in how fast it grows (2.4.4); 0s for its own",
        ),
        Param::count(
            "transition_rounds",
            500,
            0..=1_000_000,
            "round trips after slow start in which it still grows by its own round trip (2.4.4)",
        ),
        Param::duration(
            "burst",
            Duration::from_micros(250),
            Duration::ZERO..=Duration::from_millis(100),
            "time of the data that leaves back to back, if that is more than a segment (2.5)",
        ),
        INITIAL_WINDOW,
        INITIAL_SEGS,
    ],
    build: |p| Box::new(Prague::new(p)),
};

#[cfg(test)]
mod tests {
    use super::super::tests::{After, window, with};
    use super::*;
    use crate::Rtt;
    use crate::harness::ack;

    struct Run {
        w: Box<dyn CongestionControl>,
        v: SenderView,
    }

    impl Run {
        /// A connection past slow start with a window of 20 segments.
        fn new(params: &[(&str, &str)], rtt_ms: u64, counts_marks: bool) -> Self {
            let rtt = Duration::from_millis(rtt_ms);
            let rtt = Some(Rtt { latest: rtt, srtt: rtt, rttvar: Duration::ZERO, min_rtt: rtt });
            let v = SenderView { rtt, counts_marks, now: Instant::ZERO, ..window(20_000, 20_000) };
            let mut run = Self { w: with("prague", params), v };
            run.w.start(&run.v);
            run
        }

        /// A round trip of twenty acks of a segment each, of which the first are marked.
        fn round(&mut self, marked: u64) {
            let rtt = self.v.rtt.expect("it is set").srtt;
            for i in 0..20 {
                self.v.now += rtt / 20;
                self.v.snd_una += 1000;
                self.v.snd_nxt = self.v.snd_una + 20_000;
                let ce = i < marked;
                if ce && self.v.phase != Phase::Cwr {
                    self.v.window = self.w.after_congestion(Congestion::Ecn, &self.v);
                    self.v.phase = Phase::Cwr;
                }
                let a = AckInfo { ece: ce, ce_bytes: 1000 * u64::from(ce), may_grow: !ce, ..ack(1, 1000) };
                self.v.window = self.w.after_ack(&a, &self.v);
            }
            self.v.phase = Phase::Open;
        }

        fn segs(&self) -> f64 {
            self.v.window.cwnd as f64 / 1000.0
        }
    }

    #[test]
    fn the_first_mark_halves_it_and_growth_goes_on() {
        // Alpha is 1 until a mark was seen, whatever the number of rounds without.
        let mut run = Run::new(&[], 40, true);
        (0..50).for_each(|_| run.round(0));
        let before = run.segs();
        assert!((before - 20.0 - 50.0 * 20.0 / 35.0).abs() < 12.0, "{before}");
        run.v.window.cwnd = 20_000;
        run.round(1);
        // Half, and 19 unmarked segments grow it by a segment for each ten.
        assert!((run.segs() - 11.8).abs() < 0.2, "{}", run.segs());
    }

    #[test]
    fn growth_of_a_short_round_trip_is_that_of_the_virtual_one() {
        // Per ack, the square of 5 ms over 25 ms: the same growth in a second as with 25 ms at the same rate,
        // 1 / 25 of it at the same window.
        for (rtt_ms, params, growth) in [
            (5, &[("transition_rounds", "0")][..], 0.04),
            (5, &[("transition_rounds", "0"), ("rtt_virt", "10ms")], 0.25),
            (5, &[("rtt_virt", "0s"), ("transition_rounds", "0")], 1.0),
            (25, &[("transition_rounds", "0")], 1.0),
            (100, &[("transition_rounds", "0")], 1.0),
            (5, &[], 1.0),
        ] {
            let mut run = Run::new(params, rtt_ms, true);
            run.round(0);
            let grown = run.segs() - 20.0;
            assert!((grown / growth - 1.0).abs() < 0.03, "{rtt_ms} ms {params:?}: {grown}");
        }
    }

    #[test]
    fn a_short_round_trip_is_reduced_once_in_a_virtual_one() {
        let mut run = Run::new(&[("transition_rounds", "0")], 5, true);
        for reduced in [true, false, false, false, false, true] {
            let before = run.v.window.cwnd;
            run.round(20);
            assert_eq!(run.v.window.cwnd < before, reduced, "{before}");
        }
    }

    #[test]
    fn without_counters_it_is_reno() {
        let mut run = Run::new(&[], 40, false);
        run.round(0);
        assert_eq!(run.v.window.cwnd, 21_000);
        run.v.flight_size = 21_000;
        run.v.window = run.w.after_congestion(Congestion::Ecn, &run.v);
        assert_eq!(run.v.window, Window { cwnd: 10_500, ssthresh: 10_500 });
        // An ack with an echo does not grow it.
        let echo = AckInfo { ece: true, ce_bytes: 1000, may_grow: false, ..ack(1, 40_000) };
        assert_eq!(run.w.after_ack(&echo, &run.v).cwnd, 10_500);
    }

    #[test]
    fn it_paces_a_window_in_a_round_trip() {
        let mut run = Run::new(&[], 40, true);
        let pacing =
            |run: &mut Run| run.w.on(Feedback::Idle(Duration::ZERO), &run.v).pacing.expect("it paces");
        run.v.initial_window = 20_000;
        // 20 000 bytes in 40 ms are 4 Mbit/s: 125 bytes in 250 µs, less than a segment.
        assert_eq!(pacing(&mut run), Pacing { rate: Rate::from_bits_per_sec(4_000_000), quantum: 1000 });
        run.v.window.ssthresh = u64::MAX;
        assert_eq!(pacing(&mut run).rate, Rate::from_bits_per_sec(8_000_000));
        // max(cwnd, inflight): a reduction does not hold up what its window has let into the network.
        run.v.window = Window { cwnd: 20_000, ssthresh: 20_000 };
        run.v.pipe = 40_000;
        assert_eq!(pacing(&mut run).rate, Rate::from_bits_per_sec(8_000_000));
        run.v.pipe = 20_000;
        run.v.window = Window { cwnd: 20_000_000, ssthresh: 0 };
        run.v.initial_window = u64::MAX;
        assert_eq!(pacing(&mut run).quantum, 125_000);
    }

    #[test]
    fn a_loss_halves_it() {
        let mut run = Run::new(&[], 40, true);
        let after = run.w.after_congestion(Congestion::Loss, &run.v);
        assert_eq!(after, Window { cwnd: 10_000, ssthresh: 10_000 });
    }
}
