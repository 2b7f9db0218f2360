use crate::harness::{ack, view};
use crate::{
    AckInfo, Chosen, ClassicSlowStart, Congestion, CongestionControl, EpisodeEnd, Feedback, Phase, Registry,
    SenderView, Window,
};

/// The window after some feedback.
pub(super) trait After {
    fn after(&mut self, f: Feedback<'_>, v: &SenderView) -> Window;

    fn after_ack(&mut self, a: &AckInfo, v: &SenderView) -> Window {
        self.after(Feedback::Ack(a, &mut ClassicSlowStart), v)
    }

    fn after_congestion(&mut self, c: Congestion, v: &SenderView) -> Window {
        self.after(Feedback::Congestion(c), v)
    }

    fn after_episode(&mut self, s: EpisodeEnd, v: &SenderView) -> Window {
        self.after(Feedback::EpisodeEnded(s), v)
    }
}

impl<T: CongestionControl + ?Sized> After for T {
    fn after(&mut self, f: Feedback<'_>, v: &SenderView) -> Window {
        self.on(f, v).window
    }
}

fn chosen(name: &str) -> Chosen<dyn CongestionControl> {
    Registry::builtin().choose(name).expect("built in")
}

/// The window before byte counting.
const PER_ACK: (&str, &str) = ("byte_counting", "false");

pub(super) fn with(name: &str, params: &[(&str, &str)]) -> Box<dyn CongestionControl> {
    let mut choice = chosen(name);
    for (param, value) in params {
        choice.set(param, value).expect("declared");
    }
    choice.build()
}

pub(super) fn window(cwnd: u64, ssthresh: u64) -> SenderView {
    SenderView { window: Window { cwnd, ssthresh }, flight_size: cwnd, pipe: cwnd, ..view() }
}

pub(super) fn grow(w: &mut dyn CongestionControl, v: &mut SenderView, newly_acked: u64) -> u64 {
    v.window = w.after_ack(&ack(1, newly_acked), v);
    v.window.cwnd
}

#[test]
fn initial_windows() {
    let iw = |rule, smss| {
        with("reno", &[("initial_window", rule)]).start(&SenderView { smss, ..view() }).window.cwnd
    };
    // RFC 6928 §2, RFC 5681 §3.1, RFC 3390 §1.
    assert_eq!([536, 1000, 1460, 9000].map(|s| iw("rfc6928", s)), [5360, 10_000, 14_600, 18_000]);
    assert_eq!([536, 1000, 1460, 9000].map(|s| iw("rfc5681", s)), [2144, 4000, 4380, 18_000]);
    assert_eq!([536, 1000, 1460, 9000].map(|s| iw("rfc3390", s)), [2144, 4000, 4380, 18_000]);
    assert_eq!([1095, 1096, 2190, 2191].map(|s| iw("rfc5681", s)), [4380, 3288, 6570, 4382]);
    assert_eq!(iw("segments", 512), 512);
}

#[test]
fn slow_start_adds_a_segment_per_ack() {
    // J-A2: the window doubles in a round of acks per packet.
    let mut w = with("reno", &[]);
    let mut v = window(1000, u64::MAX);
    for round in 0..6 {
        for _ in 0..(1 << round) {
            grow(&mut *w, &mut v, 1000);
        }
        assert_eq!(v.window.cwnd, 2000 << round);
    }
    // RFC 5681 §3.1 eq. 2: an ack of less than a segment adds less, of more than a segment no more.
    assert_eq!(grow(&mut *w, &mut window(4000, u64::MAX), 10), 4010);
    assert_eq!(grow(&mut *w, &mut window(4000, u64::MAX), 4000), 5000);
}

#[test]
fn at_the_threshold_either_algorithm_may_run() {
    for (flag, cwnd) in [("false", 2500), ("true", 3000)] {
        assert_eq!(
            grow(&mut *with("reno", &[("at_ssthresh", flag), PER_ACK]), &mut window(2000, 2000), 1000),
            cwnd
        );
        assert_eq!(
            grow(&mut *with("reno", &[("at_ssthresh", flag), PER_ACK]), &mut window(4000, 2000), 1000),
            4250
        );
    }
}

#[test]
fn byte_counting_in_slow_start() {
    let mut w = with("reno", &[("limit_segs", "2")]);
    // RFC 3465 §2.2: up to L = 2 segments per ack, after a timeout one.
    assert_eq!(grow(&mut *w, &mut window(4000, u64::MAX), 4000), 6000);
    let mut v = SenderView { phase: Phase::Loss, ..window(4000, u64::MAX) };
    assert_eq!(grow(&mut *w, &mut v, 4000), 5000);
}

#[test]
fn dividing_acks_gains_nothing() {
    // Savage et al. 1999, ACK division: a window of 8 segments acknowledged byte by byte is one window
    // acknowledged.
    for (name, gained) in [("reno", 1000), ("cubic", 1000)] {
        for (ssthresh, most) in [(u64::MAX, 8000), (8000, gained)] {
            let mut v = window(8000, ssthresh);
            let mut w = with(name, &[]);
            (0..8000).for_each(|_| _ = grow(&mut *w, &mut v, 1));
            assert!(v.window.cwnd <= 8000 + most, "{name} below {ssthresh}: {}", v.window.cwnd);
        }
    }
    // Counted by acks, the same acknowledgments add 57 segments.
    let mut v = window(8000, 8000);
    let mut w = with("reno", &[PER_ACK]);
    (0..8000).for_each(|_| _ = grow(&mut *w, &mut v, 1));
    assert!(v.window.cwnd > 100_000, "{}", v.window.cwnd);
}

#[test]
fn byte_counting_in_avoidance() {
    let mut w = with("reno", &[]);
    let mut v = window(4000, 4000);
    // RFC 3465 §2.1: a segment for each window acknowledged, however many acks it takes.
    assert_eq!([2000, 2000, 4000, 999, 1].map(|n| grow(&mut *w, &mut v, n)), [4000, 5000, 5000, 5000, 6000]);
}

#[test]
fn per_ack_increments_are_exact() {
    // J-E13: from 4 packets, 4 acks. With segments of 65,000 bytes, whole bytes are fine enough for six
    // digits.
    let mut w = with("reno", &[PER_ACK]);
    let mut v = SenderView { smss: 65_000, ..window(4 * 65_000, 4 * 65_000) };
    for want in [4.25, 4.48529, 4.70824, 4.92064] {
        let got = grow(&mut *w, &mut v, 65_000) as f64 / 65_000.0;
        assert!((got - want).abs() < 2e-5, "{got} is not {want}");
    }
}

#[test]
fn increments_below_a_byte_add_up() {
    // J-A11: a window of a million segments of one byte each would never grow in whole bytes.
    let mut w = with("reno", &[PER_ACK]);
    let mut v = SenderView { smss: 100, ..window(1_000_000, 1_000_000) };
    for _ in 0..10_000 {
        grow(&mut *w, &mut v, 100);
    }
    // One round trip's worth of acks adds one segment less the effect of growing meanwhile: sqrt(w^2 + 2 n
    // s^2) - w.
    assert_eq!(v.window.cwnd, 1_000_099);
}

#[test]
fn a_round_trip_adds_at_most_a_segment() {
    // J-A11 (2), J-E12: from 16 to 31.5 takes 15.5 rounds in theory; increments on a growing window make it
    // 17 whole ones.
    let mut w = with("reno", &[PER_ACK]);
    let mut v = window(16_000, 16_000);
    let mut rounds = 0;
    while v.window.cwnd < 31_500 {
        let before = v.window.cwnd;
        for _ in 0..before / 1000 {
            grow(&mut *w, &mut v, 1000);
        }
        assert!(v.window.cwnd - before <= 1000);
        rounds += 1;
    }
    assert_eq!(rounds, 17);
}

#[test]
fn an_unused_window_does_not_grow() {
    let unused = AckInfo { validated: false, ..ack(1, 1000) };
    for name in ["reno", "cubic"] {
        assert_eq!(with(name, &[]).after_ack(&unused, &window(4000, u64::MAX)).cwnd, 4000);
        assert_eq!(
            with(name, &[("validate", "false")]).after_ack(&unused, &window(4000, u64::MAX)).cwnd,
            5000
        );
    }
}

#[test]
fn reductions() {
    let mut w = with("reno", &[]);
    let v = window(16_000, u64::MAX);
    assert_eq!(w.after_congestion(Congestion::Loss, &v), Window { cwnd: 8000, ssthresh: 8000 });
    assert_eq!(w.after_congestion(Congestion::Ecn, &v), Window { cwnd: 8000, ssthresh: 8000 });
    // J-A10, RFC 5681 §3.1.
    assert_eq!(
        w.after_congestion(Congestion::Rto { repeated: false }, &v),
        Window { cwnd: 1000, ssthresh: 8000 }
    );
    assert_eq!(
        w.after_congestion(Congestion::Rto { repeated: true }, &window(1000, 8000)),
        Window { cwnd: 1000, ssthresh: 8000 }
    );
    // Limited Transmit's two segments do not count, an unused window does not either.
    assert_eq!(w.after_congestion(Congestion::Loss, &SenderView { flight_size: 18_000, ..v }).ssthresh, 8000);
    assert_eq!(w.after_congestion(Congestion::Loss, &SenderView { flight_size: 6000, ..v }).ssthresh, 3000);
    assert_eq!(
        w.after_congestion(Congestion::Loss, &window(2000, 2000)).ssthresh,
        2000,
        "floor of two segments"
    );
    // J-E11 with d = 7/8.
    let mut gentle = with("reno", &[("decrease", "0.875")]);
    let sizes = [32_000, 28_000, 24_500, 21_437]
        .map(|cwnd| gentle.after_congestion(Congestion::Loss, &window(cwnd, 0)).cwnd);
    assert_eq!(sizes, [28_000, 24_500, 21_437, 18_757]);
    // M-A3 as printed.
    let literal =
        with("reno", &[("keep_ssthresh", "true")]).after_congestion(Congestion::Rto { repeated: false }, &v);
    assert_eq!(literal, Window { cwnd: 1000, ssthresh: u64::MAX });
}

#[test]
fn a_reduction_may_leave_whole_segments() {
    // M-A1, M-X11.
    for (whole, left) in [("false", 9500), ("true", 9000)] {
        let mut w = with("reno", &[("whole_segs_left", whole)]);
        assert_eq!(
            w.after_congestion(Congestion::Loss, &window(19_000, u64::MAX)),
            Window { cwnd: left, ssthresh: left }
        );
        assert_eq!(
            w.after_congestion(Congestion::Rto { repeated: false }, &window(19_000, u64::MAX)).ssthresh,
            left
        );
        assert_eq!(w.after_congestion(Congestion::Loss, &window(2900, 0)).cwnd, 2000, "the floor stays");
    }
}

#[test]
fn a_window_may_grow_during_a_repair() {
    // M-X11: the growth of the round trip is added at its end, once for a loss inferred from acks.
    for (segs, grown) in [("0", 0), ("1", 1000), ("0.5", 500)] {
        let mut w = with("reno", &[("repair_segs", segs)]);
        for (cause, more) in
            [(Congestion::Loss, grown), (Congestion::Ecn, 0), (Congestion::Rto { repeated: false }, 0)]
        {
            let mut v = window(16_000, u64::MAX);
            v.window = w.after_congestion(cause, &v);
            let before = v.window.cwnd;
            v.window = w.after_episode(EpisodeEnd::Completed, &v);
            assert_eq!(v.window.cwnd, before + more, "{segs} after {cause:?}");
            assert_eq!(w.after_episode(EpisodeEnd::Completed, &v), v.window, "once");
        }
        w.after_congestion(Congestion::Loss, &window(16_000, u64::MAX));
        let v = window(16_000, u64::MAX);
        assert_eq!(w.after_episode(EpisodeEnd::Spurious, &v), v.window);
    }
}

#[test]
fn avoidance_alone_halves_and_adds_a_segment_per_round_trip() {
    // J-A9: no slow start at any window, and a timeout halves, a repeated one too.
    let mut w = with("reno", &[("phases", "avoidance"), ("initial_window", "segments")]);
    let mut v = window(4000, u64::MAX);
    (0..4).for_each(|_| _ = grow(&mut *w, &mut v, 1000));
    assert!((4900..=5000).contains(&v.window.cwnd), "{}", v.window.cwnd);
    let rto = |repeated| Congestion::Rto { repeated };
    assert_eq!(
        w.after_congestion(rto(false), &window(16_000, u64::MAX)),
        Window { cwnd: 8000, ssthresh: u64::MAX }
    );
    assert_eq!(
        w.after_congestion(rto(true), &window(8000, u64::MAX)),
        Window { cwnd: 4000, ssthresh: u64::MAX }
    );
    assert_eq!(
        w.after_congestion(rto(true), &window(1000, u64::MAX)).cwnd,
        1000,
        "one segment to go on with"
    );
    // The window in use counts: half of min(cwnd, awnd).
    assert_eq!(
        w.after_congestion(rto(false), &SenderView { flight_size: 6000, ..window(16_000, u64::MAX) }).cwnd,
        3000
    );
}

#[test]
fn slow_start_alone_has_no_threshold() {
    // J-A2 without J-A9.
    let mut w = with("reno", &[("phases", "slow-start")]);
    let mut v = window(16_000, u64::MAX);
    v.window = w.after_congestion(Congestion::Rto { repeated: false }, &v);
    assert_eq!(v.window, Window { cwnd: 1000, ssthresh: u64::MAX });
    (0..31).for_each(|_| _ = grow(&mut *w, &mut v, 1000));
    assert_eq!(v.window.cwnd, 32_000);
}

#[test]
fn multiplicative_increase_and_decrease() {
    // J-A17: b = 1/d = 8/7, no additive part: a round trip of acks multiplies the window, a loss takes that
    // back.
    let mut w = with(
        "reno",
        &[("decrease", "0.875"), ("increase_segs", "0"), ("increase_factor", "1.1428571428571428"), PER_ACK],
    );
    let mut v = window(28_000, 28_000);
    (0..28).for_each(|_| _ = grow(&mut *w, &mut v, 1000));
    assert!((31_990..=32_000).contains(&v.window.cwnd), "{}", v.window.cwnd);
    assert_eq!(w.after_congestion(Congestion::Loss, &window(32_000, 0)).cwnd, 28_000);
    // By bytes acknowledged: a window's worth at once.
    let mut bytes = with("reno", &[("increase_segs", "0"), ("increase_factor", "2")]);
    assert_eq!(grow(&mut *bytes, &mut window(8000, 8000), 8000), 16_000);
    // A quarter of a segment, for gateways that drop at the knee.
    let mut small = with("reno", &[("increase_segs", "0.25"), PER_ACK]);
    let mut v = window(8000, 8000);
    (0..8).for_each(|_| _ = grow(&mut *small, &mut v, 1000));
    assert!((8240..=8250).contains(&v.window.cwnd), "{}", v.window.cwnd);
}

#[test]
fn whole_segments_never_grow() {
    // J-A11 (1), footnote 19: 1/cwnd of a segment is always truncated to 0.
    let mut w = with("reno", &[("whole_segs", "true"), PER_ACK]);
    let mut v = window(2000, 2000);
    assert!((0..10_000).all(|_| grow(&mut *w, &mut v, 1000) == 2000));
    assert_eq!(grow(&mut *w, &mut window(1000, 2000), 1000), 2000, "slow start adds whole ones");
}

#[test]
fn before_1988_nothing_was_reduced() {
    let mut w = with("receiver-only", &[]);
    let open = w.start(&view()).window;
    let v = SenderView { window: open, ..view() };
    assert_eq!(w.after_congestion(Congestion::Rto { repeated: false }, &v), open);
    assert_eq!(w.after_congestion(Congestion::Loss, &v), open);
}
