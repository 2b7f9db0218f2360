use std::sync::Arc;

use ackclock_units::{Bytes, Duration, Instant};

use super::initial::{INITIAL_SEGS, INITIAL_WINDOW, InitialWindow};
use super::standard::{Standard, at_least_two, half_flight, reduced_to};
use crate::{
    AckInfo, Congestion, CongestionControl, Control, Entry, EpisodeEnd, Feedback, Needs, Param, Params,
    Policy, PrivateState, SenderView, Window,
};

/// Reno, but after a reduction the window is what the path delivers in its smallest round-trip time.
#[derive(Debug)]
struct Westwood {
    rules: Arc<Rules>,
    standard: Standard,
    /// Bandwidth after one filter and after both, bytes per second; 0 before the first sample.
    filtered_once: u64,
    bandwidth: u64,
    /// Bytes delivered since `sample_start`.
    delivered: Bytes,
    sample_start: Instant,
    /// The latest round-trip time, and the smallest; `None` before there is one.
    rtt: Option<Duration>,
    min_rtt: Option<Duration>,
    /// The next round-trip time is the smallest one.
    forget_min_rtt: bool,
    /// The window was reduced for a loss or an echo, and the episode is not over.
    reduced: bool,
}

#[derive(Debug)]
struct Rules {
    min_sample: Duration,
    initial: InitialWindow,
}

/// A low-pass filter with constant coefficients (Linux's westwood_do_filter).
fn filter(before: u64, sample: u64) -> u64 {
    (7 * before + sample) / 8
}

impl Westwood {
    fn new(p: &Params) -> Self {
        Self {
            rules: p
                .shared(|p| Rules { min_sample: p.duration("min_sample"), initial: InitialWindow::new(p) }),
            standard: Standard::default(),
            filtered_once: 0,
            bandwidth: 0,
            delivered: 0,
            sample_start: Instant::ZERO,
            rtt: None,
            min_rtt: None,
            forget_min_rtt: false,
            reduced: false,
        }
    }

    fn measure(&mut self, a: &AckInfo, now: Instant) {
        if let Some(rtt) = a.rtt {
            self.rtt = Some(rtt);
        }
        let Some(rtt) = self.rtt else {
            self.delivered += a.delivered;
            return;
        };
        // A sample takes a round trip, and no less than a time over which rates mean something.
        let elapsed = now.since(self.sample_start);
        if elapsed > rtt.max(self.rules.min_sample) {
            let nanos = u128::from(elapsed.as_nanos()).max(1);
            let rate = u128::from(self.delivered) * 1_000_000_000 / nanos;
            self.sample(u64::try_from(rate).unwrap_or(u64::MAX).min(1 << 50));
            (self.delivered, self.sample_start) = (0, now);
        }
        self.delivered = self.delivered.saturating_add(a.delivered);
        let forget = std::mem::take(&mut self.forget_min_rtt);
        self.min_rtt = Some(self.min_rtt.filter(|_| !forget).map_or(rtt, |min| min.min(rtt)));
    }

    /// Filters a sample of the bandwidth, bytes per second.
    fn sample(&mut self, rate: u64) {
        if self.filtered_once == 0 && self.bandwidth == 0 {
            (self.filtered_once, self.bandwidth) = (rate, rate);
        } else {
            self.filtered_once = filter(self.filtered_once, rate);
            self.bandwidth = filter(self.bandwidth, self.filtered_once);
        }
    }

    /// What the path holds without a queue.
    fn bdp(&self, v: &SenderView) -> Bytes {
        let min_rtt = self.min_rtt.map_or(0, Duration::as_nanos);
        let bytes = u128::from(self.bandwidth) * u128::from(min_rtt) / 1_000_000_000;
        at_least_two(u64::try_from(bytes).unwrap_or(u64::MAX).min(1 << 50), v)
    }

    fn cut(&mut self, c: Congestion, v: &SenderView) -> Window {
        self.standard.restart();
        let timeout = matches!(c, Congestion::Rto { .. });
        self.reduced = !timeout;
        self.forget_min_rtt |= timeout;
        let ssthresh = if timeout { self.bdp(v) } else { half_flight(v) };
        reduced_to(ssthresh, c, v)
    }
}

impl Policy for Westwood {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("bandwidth_bps", 8.0 * self.bandwidth as f64);
        state.number("min_rtt_us", self.min_rtt.map_or(0.0, |rtt| rtt.as_nanos() as f64 / 1000.0));
    }
}

impl CongestionControl for Westwood {
    fn needs(&self) -> Needs {
        Needs { every_ack: true, ..Needs::default() }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        self.sample_start = v.now;
        Window { cwnd: self.rules.initial.bytes(v), ssthresh: Bytes::MAX }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        match f {
            Feedback::Ack(a, slow_start) => {
                self.measure(a, v.now);
                self.standard.grown(a, slow_start, v)
            }
            Feedback::Congestion(c) => self.cut(c, v),
            Feedback::EpisodeEnded(end) => {
                if std::mem::take(&mut self.reduced) && end == EpisodeEnd::Completed {
                    let bdp = self.bdp(v);
                    Window { cwnd: bdp, ssthresh: bdp }
                } else {
                    v.window
                }
            }
            f => v.default_window(&f),
        }
        .into()
    }
}

/// Westwood+.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "westwood",
    about: "Westwood+: after a loss the window is the measured bandwidth times the smallest round-trip time, \
            so that losses without a queue cost little.",
    source: "Linux's tcp_westwood; Grieco and Mascolo 2004",
    params: &[
        Param::duration(
            "min_sample",
            Duration::from_millis(50),
            Duration::from_millis(1)..=Duration::from_secs(1),
            "shortest time over which the bandwidth is measured, if the round trip is shorter \
             (TCP_WESTWOOD_RTT_MIN)",
        ),
        INITIAL_WINDOW,
        INITIAL_SEGS,
    ],
    build: |p| Box::new(Westwood::new(p)),
};

#[cfg(test)]
mod tests {
    use super::super::tests::{After, window};
    use super::*;
    use crate::harness::ack;

    struct Run {
        w: Westwood,
        v: SenderView,
    }

    impl Run {
        fn new() -> Self {
            let mut run = Self {
                w: Westwood::new(&Params::defaults(ENTRY.params)),
                v: SenderView { now: Instant::ZERO, ..window(50_000, 50_000) },
            };
            run.w.start(&run.v);
            run
        }

        /// Acks of a segment of 1000 bytes, each `gap_ms` after the other.
        fn acks(&mut self, n: u32, gap_ms: u64, rtt_ms: u64) {
            for _ in 0..n {
                self.v.now += Duration::from_millis(gap_ms);
                let a = AckInfo { rtt: Some(Duration::from_millis(rtt_ms)), ..ack(1, 1000) };
                self.w.after_ack(&a, &self.v);
            }
        }

        fn after_loss(&mut self) -> Window {
            let before = self.v.window;
            self.v.window = self.w.after_congestion(Congestion::Loss, &self.v);
            assert_eq!(self.v.window, Window { cwnd: 25_000, ssthresh: 25_000 }, "during the repair");
            self.v.window = self.w.after_episode(EpisodeEnd::Completed, &self.v);
            std::mem::replace(&mut self.v.window, before)
        }
    }

    #[test]
    fn after_a_loss_it_is_the_bandwidth_times_the_smallest_rtt() {
        // A segment each 10 ms is 100 kB/s, 60 ms of it 6000 bytes. The first sample ends with the first ack
        // later than 60 ms, which does not count in it: six segments in 70 ms. Then all are of 70 ms and
        // seven segments.
        let mut run = Run::new();
        run.acks(7, 10, 60);
        assert_eq!(run.w.bandwidth, 6000 * 1000 / 70);
        run.acks(1000, 10, 60);
        assert_eq!(run.after_loss().cwnd / 100, 59, "6000 bytes, rounded down by the filter");
        // A queue makes the round trip longer, not the smallest one.
        run.acks(1000, 10, 160);
        assert_eq!(run.after_loss().cwnd / 100, 59);
    }

    #[test]
    fn two_filters_of_an_eighth_follow_each_other() {
        let mut w = Westwood::new(&Params::defaults(ENTRY.params));
        w.sample(800);
        assert_eq!((w.filtered_once, w.bandwidth), (800, 800));
        w.sample(1600);
        // (7 * 800 + 1600) / 8 = 900, (7 * 800 + 900) / 8 = 812.5.
        assert_eq!((w.filtered_once, w.bandwidth), (900, 812));
        w.sample(1600);
        assert_eq!((w.filtered_once, w.bandwidth), (987, 833));
    }

    #[test]
    fn a_timeout_sets_the_threshold_and_forgets_the_smallest_rtt() {
        let mut run = Run::new();
        run.acks(1000, 10, 60);
        let timeout = Congestion::Rto { repeated: false };
        let after = run.w.after_congestion(timeout, &run.v);
        assert_eq!((after.cwnd, after.ssthresh / 100), (1000, 59));
        run.v.window = after;
        assert_eq!(run.w.after_episode(EpisodeEnd::Completed, &run.v), after);
        run.acks(1, 10, 120);
        assert_eq!(run.w.min_rtt, Some(Duration::from_millis(120)));
    }

    #[test]
    fn without_a_sample_two_segments_are_left() {
        let mut run = Run::new();
        assert_eq!(run.after_loss(), Window { cwnd: 2000, ssthresh: 2000 });
    }
}
