use ackclock_units::{Duration, Instant};

use super::tests::{After, grow, window, with};
use crate::harness::ack;
use crate::{
    AckInfo, Congestion, CongestionControl, EpisodeEnd, Feedback, Registry, Rtt, SenderView, SlowStart,
    Window,
};

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

#[test]
fn in_the_integers_of_linux_an_ack_goes_on_where_slow_start_ends() {
    // The first ack after a timeout, of five segments, with a threshold of two: one is slow start's, and of the
    // other four every second one adds a segment, as Linux 6.18 was measured.
    let mut w = with("cubic", &[("arithmetic", "linux")]);
    let mut slow_start = Registry::builtin().choose::<dyn SlowStart>("delivered").expect("delivered").build();
    let mut v = CubicRun::new(&[], 8000).v;
    v.window = w.after_congestion(Congestion::Rto { repeated: false }, &v);
    v.window.ssthresh = 2000;
    let a = AckInfo { delivered: 5000, validated: true, ..ack(1, 5000) };
    let grown = w.on(Feedback::Ack(&a, &mut *slow_start), &v).window;
    assert_eq!(grown, Window { cwnd: 4000, ssthresh: 2000 });
}
