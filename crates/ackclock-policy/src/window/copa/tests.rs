use ackclock_units::Instant;

use super::super::tests::{After, window};
use super::*;
use crate::harness::ack;
use crate::{RateSample, Rtt};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

struct Run {
    w: Copa,
    v: SenderView,
}

impl Run {
    /// Past slow start, with a smallest round-trip time of 100 ms.
    fn new(segs: u64) -> Self {
        let v = SenderView { now: Instant::ZERO, ..window(segs * 1000, segs * 1000) };
        let mut run = Self { w: Copa::new(&Params::defaults(ENTRY.params)), v };
        run.w.start(&run.v);
        run.ack(100, 0);
        run
    }

    fn ack(&mut self, rtt_ms: u64, bytes: u64) {
        let rtt = ms(rtt_ms);
        self.v.rtt = Some(Rtt { latest: rtt, srtt: rtt, rttvar: Duration::ZERO, min_rtt: rtt });
        let a = AckInfo { rtt: Some(rtt), ..ack(1, bytes) };
        self.v.window = self.w.after_ack(&a, &self.v);
    }

    /// A round trip of acks of a segment each.
    fn round(&mut self, rtt_ms: u64) {
        let segs = self.v.window.cwnd / 1000;
        let end = self.v.snd_nxt;
        for i in 1..=segs {
            self.v.now += ms(rtt_ms) / segs;
            self.v.snd_una = if i == segs { end + 1 } else { self.v.snd_una };
            self.v.snd_nxt = end + 1000;
            self.ack(rtt_ms, 1000);
        }
    }

    fn segs(&self) -> f64 {
        self.v.window.cwnd as f64 / 1000.0
    }
}

#[test]
fn it_moves_by_one_over_delta_segments_in_a_round_trip_towards_the_target() {
    // 20 segments in 100 + q ms against 2 segments in q: equal at q = 11.11 ms. With v = 1 the window moves
    // by 2 segments in a round trip.
    for (rtt, moved) in [(101, 2.0), (110, 2.0), (120, -2.0), (200, -2.0)] {
        let mut run = Run::new(20);
        // So that RTTstanding is of this delay alone.
        run.v.now += ms(1000);
        run.round(rtt);
        assert!((run.segs() - 20.0 - moved).abs() < 0.25, "{rtt} ms: {}", run.segs());
    }
}

#[test]
fn the_velocity_doubles_after_three_round_trips_in_one_direction() {
    let mut run = Run::new(20);
    run.v.now += ms(1000);
    let mut velocities = vec![];
    for _ in 0..7 {
        run.round(101);
        velocities.push(run.w.velocity);
    }
    // The first round trip only says where the next one begins, that one the direction, which then remains
    // the same for three.
    assert_eq!(velocities, [1, 1, 1, 1, 2, 4, 8]);
    run.v.now += ms(1000);
    run.round(400);
    run.round(400);
    assert_eq!(run.w.velocity, 1, "the direction has changed");
}

#[test]
fn a_queue_that_is_never_empty_makes_it_compete() {
    let mut run = Run::new(20);
    run.v.now += ms(1000);
    let mut modes = vec![];
    for _ in 0..9 {
        run.round(150);
        modes.push((run.w.competes, run.w.packets));
    }
    let first = modes.iter().position(|(competes, _)| *competes).expect("it competes");
    // The first of the six began with an empty queue.
    assert_eq!(first, 5, "{modes:?}");
    // §2.2: delta is 0.5 at first; then 1 / delta grows by one in a round trip.
    let packets: Vec<_> = modes[first..].iter().map(|(_, packets)| *packets).collect();
    assert_eq!(packets, [2.0, 3.0, 4.0, 5.0]);
    let before = run.w.packets;
    let cwnd = run.v.window.cwnd;
    assert_eq!(
        run.w.after_congestion(Congestion::Loss, &run.v),
        Window { cwnd, ssthresh: cwnd },
        "the window is moved by delays alone"
    );
    assert_eq!(run.w.packets, (before / 2.0).max(2.0));
    // An empty queue ends it.
    run.v.now += ms(1000);
    run.round(100);
    run.round(100);
    assert_eq!((run.w.competes, run.w.packets), (false, 2.0));
}

#[test]
fn a_loss_does_not_concern_the_default_mode() {
    let mut run = Run::new(20);
    assert_eq!(run.w.after_congestion(Congestion::Loss, &run.v), run.v.window);
    assert_eq!(run.w.packets, 2.0);
}

#[test]
fn a_repair_is_not_held_to_a_smaller_window_of_before() {
    // The window was five segments once, and is twenty now: a repair's flight ends at the threshold.
    let mut run = Run::new(20);
    run.v.window.ssthresh = 5000;
    let unreduced = Window { cwnd: 20_000, ssthresh: 20_000 };
    assert_eq!(run.w.after_congestion(Congestion::Loss, &run.v), unreduced);
    // Slow start goes on.
    run.v.window.ssthresh = 30_000;
    assert_eq!(run.w.after_congestion(Congestion::Loss, &run.v), run.v.window);
}

#[test]
fn slow_start_ends_when_the_rate_is_above_the_target() {
    let mut run = Run::new(20);
    run.v.window.ssthresh = u64::MAX;
    run.round(100);
    assert_eq!(run.v.window, Window { cwnd: 40_000, ssthresh: u64::MAX });
    // 40 segments in 105.3 ms are as fast as 2 in 5.3 ms.
    run.v.now += ms(1000);
    run.ack(105, 1000);
    assert_eq!(run.v.window.ssthresh, u64::MAX);
    run.v.now += ms(1000);
    run.ack(106, 1000);
    assert_eq!(run.v.window, Window { cwnd: 41_000, ssthresh: 41_000 });
}

#[test]
fn it_does_not_grow_beyond_the_receivers_window() {
    for ssthresh in [20_000, u64::MAX] {
        let mut run = Run::new(20);
        (run.v.window.ssthresh, run.v.rwnd) = (ssthresh, 30_000);
        run.v.now += ms(1000);
        for _ in 0..20 {
            run.round(100);
        }
        assert_eq!(run.v.window.cwnd, 30_000);
        // Nor does it shrink where the receiver takes its window back.
        run.v.rwnd = 0;
        run.round(100);
        assert_eq!(run.v.window.cwnd, 30_000);
    }
}

#[test]
fn it_paces_at_twice_the_rate_of_the_window() {
    let mut run = Run::new(20);
    let pacing = run.w.on(Feedback::Congestion(Congestion::Loss), &run.v).pacing;
    assert_eq!(pacing, Some(Pacing { rate: Rate::from_bits_per_sec(3_200_000), quantum: 1000 }));
}

#[test]
fn the_delay_is_that_of_the_newest_segment_and_a_queue_of_two_is_nearly_empty() {
    // At 1 Mbit/s two segments of 1000 bytes take 16 ms.
    for (rtt, since_empty) in [(100, 0), (116, 0), (117, 3)] {
        let mut run = Run::new(20);
        run.v.now += ms(1000);
        run.ack(200, 1000);
        run.w.since_empty = 3;
        run.v.now += ms(1000);
        let rate = RateSample {
            delivered: 25_000,
            interval: ms(200),
            prior_delivered: 0,
            total_delivered: 25_000,
            app_limited: false,
            lost: 0,
            prior_in_flight: 20_000,
            sent_at: run.v.now,
            rtt: Some(ms(rtt)),
        };
        // The ack waited for 40 ms, after the first segment had arrived.
        let a = AckInfo { rtt: Some(ms(rtt + 40)), rate: Some(rate), ..ack(1, 1000) };
        run.w.after_ack(&a, &run.v);
        assert_eq!(run.w.delays.standing(), Some(ms(rtt)));
        assert_eq!(run.w.since_empty, since_empty, "{rtt}");
    }
}
