use ackclock_units::{Bytes, SeqNumber};

use super::initial::{INITIAL_SEGS, INITIAL_WINDOW, InitialWindow};
use super::standard::{Standard, at_least_two, half_flight, reduced_to};
use crate::{
    AckInfo, Congestion, CongestionControl, Control, Entry, Feedback, Needs, Param, Params, Policy,
    PrivateState, SenderView, Window,
};

/// Reno, but an ECN echo reduces the window by the fraction of bytes that were marked.
#[derive(Debug)]
struct Dctcp {
    standard: Standard,
    estimate: MarkedFraction,
    initial: InitialWindow,
}

/// DCTCP.Alpha, the estimate of the fraction of bytes that are marked (RFC 8257 §3.3).
#[derive(Debug)]
pub(super) struct MarkedFraction {
    pub alpha: f64,
    /// g.
    gain: f64,
    /// DCTCP.BytesAcked and DCTCP.BytesMarked.
    acked: Bytes,
    marked: Bytes,
    /// DCTCP.WindowEnd.
    window_end: SeqNumber,
}

impl MarkedFraction {
    pub fn new(alpha: f64, gain: f64) -> Self {
        Self { alpha, gain, acked: 0, marked: 0, window_end: SeqNumber(0) }
    }

    /// The connection's first data is sent next.
    pub fn start(&mut self, v: &SenderView) {
        self.window_end = v.snd_una;
    }

    /// Counts what an ack delivers, and what of it was marked.
    pub fn count(&mut self, a: &AckInfo) {
        self.acked = self.acked.saturating_add(a.delivered);
        self.marked = self.marked.saturating_add(a.ce_bytes.min(a.delivered));
    }

    /// True when the observation window is over (RFC 8257 §3.3 step 4).
    pub fn is_over(&self, v: &SenderView) -> bool {
        v.snd_una > self.window_end
    }

    /// Updates the estimate, and begins the next observation window (RFC 8257 §3.3 steps 5 to 8).
    pub fn update(&mut self, v: &SenderView) {
        if self.acked > 0 {
            let m = self.marked as f64 / self.acked as f64;
            self.alpha = (self.alpha * (1.0 - self.gain) + self.gain * m).clamp(0.0, 1.0);
        }
        self.begin(v);
    }

    /// Begins an observation window.
    pub fn begin(&mut self, v: &SenderView) {
        (self.window_end, self.acked, self.marked) = (v.snd_nxt, 0, 0);
    }

    /// What an echo leaves of `cwnd`: 1 - alpha / 2 (RFC 8257 §3.3 step 9).
    pub fn left(&self, cwnd: Bytes) -> Bytes {
        (cwnd as f64 * (1.0 - self.alpha / 2.0)) as Bytes
    }
}

impl Dctcp {
    fn new(p: &Params) -> Self {
        Self {
            standard: Standard::default(),
            estimate: MarkedFraction::new(p.ratio("initial_alpha"), p.ratio("gain")),
            initial: InitialWindow::new(p),
        }
    }

    fn cut(&mut self, c: Congestion, v: &SenderView) -> Window {
        self.standard.restart();
        let ssthresh = match c {
            Congestion::Ecn => at_least_two(self.estimate.left(v.window.cwnd), v),
            // RFC 8257 §3.5: a loss counts as for any TCP.
            Congestion::Loss | Congestion::Rto { .. } => half_flight(v),
        };
        reduced_to(ssthresh, c, v)
    }
}

impl Policy for Dctcp {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("alpha", self.estimate.alpha);
        state.number("bytes_acked", self.estimate.acked as f64);
        state.number("bytes_marked", self.estimate.marked as f64);
    }
}

impl CongestionControl for Dctcp {
    fn needs(&self) -> Needs {
        // RFC 8257 §3.3: an ack updates alpha (steps 1 to 8) before it reduces the window by it (step 9).
        Needs { every_ack: true, echo_after_ack: true, ..Needs::default() }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        self.estimate.start(v);
        Window { cwnd: self.initial.bytes(v), ssthresh: Bytes::MAX }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        match f {
            Feedback::Ack(a, slow_start) => {
                self.estimate.count(a);
                if self.estimate.is_over(v) {
                    self.estimate.update(v);
                }
                // RFC 8257 §3.4: it grows as any TCP does.
                self.standard.grown(a, slow_start, v)
            }
            Feedback::Congestion(c) => self.cut(c, v),
            f => v.default_window(&f),
        }
        .into()
    }
}

/// RFC 8257.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "dctcp",
    about: "DCTCP: an ECN echo reduces the window by half of the fraction of bytes that were marked lately; \
            needs a receiver with `dctcp-feedback` or `accecn`, and a queue that marks at a threshold: `red` \
            with equal thresholds, `ecn`, w_q = 1, max_p = 0.999 and wait = false.",
    source: "RFC 8257",
    params: &[
        Param::ratio("gain", 0.0625, 0.001..=1.0, "g, weight of the last window of data in alpha (4.2)"),
        Param::ratio(
            "initial_alpha",
            1.0,
            0.0..=1.0,
            "alpha before the first window of data, as Linux has it",
        ),
        INITIAL_WINDOW,
        INITIAL_SEGS,
    ],
    build: |p| Box::new(Dctcp::new(p)),
};

#[cfg(test)]
mod tests {
    use super::super::tests::{After, window, with};
    use super::*;
    use crate::harness::ack;

    /// Segments of 1000 bytes, of which some are marked.
    struct Run {
        w: Box<dyn CongestionControl>,
        v: SenderView,
    }

    impl Run {
        fn new(params: &[(&str, &str)]) -> Self {
            let mut run = Self { w: with("dctcp", params), v: window(10_000, 10_000) };
            run.v.snd_nxt = run.v.snd_una;
            run.w.start(&run.v);
            run
        }

        /// An observation window of eleven segments: it is over with the first ack beyond what was sent when
        /// it began.
        fn round(&mut self, marked: u64) {
            for i in 0..11 {
                self.ack(i < marked);
            }
        }

        fn ack(&mut self, ce: bool) {
            self.v.snd_una += 1000;
            self.v.snd_nxt = self.v.snd_una + 10_000;
            let a = AckInfo { ece: ce, ce_bytes: 1000 * u64::from(ce), may_grow: !ce, ..ack(1, 1000) };
            let window = self.w.after_ack(&a, &self.v);
            assert!(window.cwnd >= self.v.window.cwnd);
        }

        fn alpha(&self) -> f64 {
            let mut state = PrivateState::default();
            self.w.private_state(&mut state);
            state.0.iter().find(|(name, _)| *name == "alpha").expect("it is traced").1
        }

        /// The part of a hundred segments that an echo leaves.
        fn left(&mut self) -> f64 {
            let v = SenderView { ..window(100_000, 100_000) };
            self.w.after_congestion(Congestion::Ecn, &v).cwnd as f64 / 100_000.0
        }
    }

    #[test]
    fn alpha_follows_the_fraction_of_marked_bytes() {
        // RFC 8257 §3.3: alpha = alpha (1 - g) + g M with g = 1/16, once per window of data. The first ack
        // ends the window that began before the first data.
        let mut run = Run::new(&[]);
        assert_eq!((run.alpha(), run.left()), (1.0, 0.5));
        run.ack(false);
        let mut alpha = 15.0 / 16.0;
        for marked in [0_u32, 11, 5, 0, 0, 3, 1, 11, 11] {
            assert!((run.alpha() - alpha).abs() < 1e-12, "{} is not {alpha}", run.alpha());
            assert!((run.left() - (1.0 - alpha / 2.0)).abs() < 1e-4);
            run.round(marked.into());
            alpha = (15.0 * alpha + f64::from(marked) / 11.0) / 16.0;
        }
        assert!((run.alpha() - alpha).abs() < 1e-12);
    }

    #[test]
    fn with_every_byte_marked_it_is_a_halving() {
        let mut run = Run::new(&[("initial_alpha", "0")]);
        assert_eq!(run.left(), 1.0);
        (0..200).for_each(|_| run.round(11));
        assert!((run.left() - 0.5).abs() < 1e-3);
    }

    #[test]
    fn losses_count_as_for_any_tcp() {
        // RFC 8257 §3.5.
        let mut w = with("dctcp", &[("initial_alpha", "0")]);
        let v = window(20_000, u64::MAX);
        assert_eq!(w.after_congestion(Congestion::Loss, &v), Window { cwnd: 10_000, ssthresh: 10_000 });
        let timeout = Congestion::Rto { repeated: false };
        assert_eq!(w.after_congestion(timeout, &v), Window { cwnd: 1000, ssthresh: 10_000 });
        // Two segments at least.
        let mut w = with("dctcp", &[]);
        assert_eq!(w.after_congestion(Congestion::Ecn, &window(3000, 3000)).cwnd, 2000);
    }

    #[test]
    fn marks_of_an_ack_that_delivers_by_sack_count() {
        let mut e = MarkedFraction::new(0.0, 0.5);
        let mut v = window(10_000, 10_000);
        e.count(&AckInfo { newly_sacked: 3000, delivered: 4000, ce_bytes: 1000, ..ack(1, 1000) });
        v.snd_una += 1;
        e.update(&v);
        assert_eq!((e.alpha, e.left(8000)), (0.125, 7500));
    }
}
