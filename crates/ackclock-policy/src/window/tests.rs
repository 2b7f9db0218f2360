use ackclock_units::{Duration, Instant};

use crate::harness::{ack, view};
use crate::{
    AckInfo, Chosen, ClassicSlowStart, Congestion, CongestionControl, EpisodeEnd, Feedback, Phase, Registry,
    Rtt, SenderView, Window,
};

/// The window after some feedback.
trait After {
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

fn with(name: &str, params: &[(&str, &str)]) -> Box<dyn CongestionControl> {
    let mut choice = chosen(name);
    for (param, value) in params {
        choice.set(param, value).expect("declared");
    }
    choice.build()
}

fn window(cwnd: u64, ssthresh: u64) -> SenderView {
    SenderView { window: Window { cwnd, ssthresh }, flight_size: cwnd, pipe: cwnd, ..view() }
}

fn grow(w: &mut dyn CongestionControl, v: &mut SenderView, newly_acked: u64) -> u64 {
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

/// CUBIC in segments of 1000 bytes with a round trip of 100 ms, all acks at the end of each round.
struct CubicRun {
    w: Box<dyn CongestionControl>,
    v: SenderView,
}

impl CubicRun {
    fn new(params: &[(&str, &str)], cwnd: u64) -> Self {
        let rtt = Duration::from_millis(100);
        let rtt = Some(Rtt { latest: rtt, srtt: rtt, rttvar: Duration::ZERO, min_rtt: rtt });
        Self {
            w: with("cubic", params),
            v: SenderView { now: Instant::ZERO + Duration::from_secs(10), rtt, ..window(cwnd, cwnd) },
        }
    }

    fn congestion(&mut self, c: Congestion) {
        self.v.flight_size = self.v.window.cwnd;
        self.v.window = self.w.after_congestion(c, &self.v);
    }

    /// Acks of a window's worth of segments, spread over a round trip.
    fn round(&mut self) -> f64 {
        let n = (self.v.window.cwnd / 1000).max(1);
        for _ in 0..n {
            self.v.now += Duration::from_nanos(100_000_000 / n);
            grow(&mut *self.w, &mut self.v, 1000);
        }
        self.v.window.cwnd as f64 / 1000.0
    }
}

#[test]
fn cubic_follows_its_curve() {
    // A loss at 1000 segments: cwnd = 700, K = cbrt(300 / 0.4) = 9.0856 s. RFC 9438 eq. 1 at 5, 9.1, 12 and
    // 15 s.
    let mut run = CubicRun::new(&[("reno_friendly", "false")], 1_000_000);
    run.congestion(Congestion::Loss);
    assert_eq!(run.v.window, Window { cwnd: 700_000, ssthresh: 700_000 });
    for (rounds, want) in [(50, 972.722), (41, 1000.0), (29, 1009.902), (30, 1082.735)] {
        let got = (0..rounds).map(|_| run.round()).last().expect("rounds");
        assert!((got / want - 1.0).abs() < 0.004, "{got} is not {want}");
    }
}

#[test]
fn cubic_is_as_fast_as_reno_on_a_short_path() {
    // §4.3: from 14 segments (a loss at 20), alpha = 3 * 0.3 / 1.7 = 0.529412 segments a round trip until
    // W_est reaches 20, then 1. A small C keeps the curve below.
    let mut run = CubicRun::new(&[("c", "0.001")], 20_000);
    run.congestion(Congestion::Loss);
    let after: Vec<f64> = (0..20).map(|_| run.round()).collect();
    assert!((after[4] - (14.0 + 5.0 * 0.529_412)).abs() < 0.15, "{after:?}");
    assert!((after[19] - after[16] - 3.0).abs() < 0.2, "{after:?}");
}

#[test]
fn cubic_releases_bandwidth_below_its_former_maximum() {
    let fast = |on: &str| {
        let mut run = CubicRun::new(&[("fast_convergence", on), ("reno_friendly", "false")], 1_000_000);
        run.congestion(Congestion::Loss);
        run.round();
        run.congestion(Congestion::Loss);
        // Long after: at the plateau the window hardly moves.
        (0..100).map(|_| run.round()).last().expect("rounds")
    };
    let (with_it, without) = (fast("true"), fast("false"));
    assert!(with_it < without, "{with_it} {without}");
}

#[test]
fn cubic_starts_a_new_stage_after_a_timeout() {
    let mut run = CubicRun::new(&[("reno_friendly", "false")], 100_000);
    run.congestion(Congestion::Rto { repeated: false });
    assert_eq!(run.v.window, Window { cwnd: 1000, ssthresh: 70_000 });
    // Slow start to the threshold; the stage then begins on the plateau (§4.8): W = 70 + 0.4 t^3.
    while run.v.window.cwnd < 70_000 {
        run.round();
    }
    let start = run.v.window.cwnd as f64 / 1000.0;
    let later = (0..30).map(|_| run.round()).last().expect("rounds");
    assert!((later - start - 0.4 * 27.0).abs() < 2.0, "{start} {later}");
}

#[test]
fn cubic_undoes_a_spurious_reduction() {
    let (mut straight, mut undone) = (CubicRun::new(&[], 500_000), CubicRun::new(&[], 500_000));
    for run in [&mut straight, &mut undone] {
        run.congestion(Congestion::Loss);
        run.round();
    }
    let before = undone.v.window;
    undone.congestion(Congestion::Rto { repeated: false });
    undone.v.window = before;
    undone.v.window = undone.w.after_episode(EpisodeEnd::Spurious, &undone.v);
    assert_eq!(straight.round(), undone.round());
}

#[test]
fn cubic_does_not_count_idle_time() {
    let idle_then_round = |idle: bool| {
        let mut run = CubicRun::new(&[("reno_friendly", "false")], 500_000);
        run.congestion(Congestion::Loss);
        run.round();
        if idle {
            for _ in 0..100 {
                run.v.now += Duration::from_secs(1);
                let unused = AckInfo { validated: false, ..ack(1, 1000) };
                run.v.window = run.w.after_ack(&unused, &run.v);
            }
        }
        run.round()
    };
    assert_eq!(idle_then_round(false), idle_then_round(true));
}
