use super::super::tests::{After, window};
use super::*;
use crate::harness::ack;
use crate::{Congestion, Rtt};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

struct Run {
    w: LedbatPlusPlus,
    v: SenderView,
}

impl Run {
    fn new(segs: u64, ssthresh: u64) -> Self {
        let v = SenderView { now: Instant::ZERO, ..window(segs * 1000, ssthresh) };
        Self { w: LedbatPlusPlus::new(&Params::defaults(ENTRY.params)), v }
    }

    /// A connection in congestion avoidance without slowdowns, and with a base delay.
    fn avoiding(segs: u64, base_ms: u64) -> Self {
        let mut run = Self::new(segs, segs * 1000);
        run.w.stage = Stage::Avoidance { until: Instant::ZERO + Duration::from_secs(1_000_000) };
        run.w.delays.sample(ms(base_ms), run.v.now);
        run
    }

    /// Acks of a segment each with that round-trip time, one in each millisecond.
    fn acks(&mut self, n: u64, rtt_ms: u64) {
        let rtt = ms(rtt_ms);
        self.v.rtt = Some(Rtt { latest: rtt, srtt: rtt, rttvar: Duration::ZERO, min_rtt: rtt });
        for _ in 0..n {
            self.v.now += ms(1);
            self.v.window = self.w.after_ack(&AckInfo { rtt: Some(rtt), ..ack(1, 1000) }, &self.v);
        }
    }

    fn segs(&self) -> f64 {
        self.v.window.cwnd as f64 / 1000.0
    }
}

#[test]
fn gain_is_smaller_on_short_paths() {
    // 1 / min(16, ceil(2 * 60 ms / base)).
    for (base, divisor) in
        [(1, 16), (7, 16), (8, 15), (10, 12), (30, 4), (50, 3), (60, 2), (119, 2), (120, 1), (500, 1)]
    {
        assert_eq!(gain(ms(60), Some(ms(base))), 1.0 / f64::from(divisor), "{base} ms");
    }
    assert_eq!(gain(ms(60), None), 1.0 / 16.0);
}

#[test]
fn below_the_target_a_round_trip_adds_gain_segments() {
    for (base, gain) in [(10, 1.0 / 12.0), (60, 0.5), (120, 1.0)] {
        let mut run = Run::avoiding(100, base);
        run.acks(4, base + 30);
        run.v.window.cwnd = 100_000;
        run.acks(100, base + 30);
        assert!((run.segs() - 100.0 - gain).abs() < 0.02, "{base} ms: {}", run.segs());
    }
}

#[test]
fn above_the_target_it_shrinks_in_proportion_and_by_half_at_most() {
    // Per round trip: GAIN - W (delay / target - 1), and -W / 2 at most. On one ack of a segment, the
    // hundredth part: at 90 ms -0.5 segments, at 66 ms (0.25 - 10) / 100, at 60 ms 0.25 / 100.
    for (queue, change) in [(60, 2.5), (66, -97.5), (75, -247.5), (90, -497.5), (120, -500.0), (600, -500.0)]
    {
        let mut run = Run::avoiding(100, 30);
        run.acks(3, 30 + queue);
        // The four samples that count are of this queue from here on.
        run.v.window = Window { cwnd: 100_000, ssthresh: 100_000 };
        run.acks(1, 30 + queue);
        let changed = run.v.window.cwnd as f64 - 100_000.0;
        assert!((changed - change).abs() <= 1.0, "{queue} ms: {changed}");
    }
}

#[test]
fn two_segments_are_the_smallest_window() {
    let mut run = Run::avoiding(10, 30);
    run.acks(1000, 200);
    assert_eq!(run.v.window, Window { cwnd: 2000, ssthresh: 2000 });
}

#[test]
fn the_initial_slow_start_ends_at_three_quarters_of_the_target() {
    // With a base delay of 120 ms, GAIN is 1.
    let mut run = Run::new(2, u64::MAX);
    run.acks(10, 120);
    assert_eq!((run.segs(), run.w.stage), (12.0, Stage::InitialSlowStart));
    run.acks(4, 165);
    assert_eq!((run.segs(), run.w.stage), (16.0, Stage::InitialSlowStart));
    // More than 45 ms, in four samples.
    run.acks(3, 166);
    assert_eq!(run.w.stage, Stage::InitialSlowStart);
    run.acks(1, 166);
    // The first slowdown is two round trips later.
    assert_eq!(run.w.stage, Stage::Avoidance { until: Instant::ZERO + ms(18 + 2 * 166) });
    assert_eq!(run.v.window.ssthresh, 19_000);
}

#[test]
fn a_slowdown_holds_two_segments_for_two_round_trips_and_comes_again_after_nine_times_its_length() {
    let mut run = Run::avoiding(8, 120);
    run.w.stage = Stage::Avoidance { until: Instant::ZERO + ms(10) };
    run.acks(9, 120);
    let before = run.v.window.cwnd;
    run.acks(1, 120);
    assert_eq!(run.v.window, Window { cwnd: 2000, ssthresh: before });
    // Frozen from 10 to 250 ms, then a segment for each ack.
    run.acks(239, 120);
    assert_eq!(run.v.window.cwnd, 2000);
    let acks = (before - 2000).div_ceil(1000);
    run.acks(acks, 120);
    assert!(run.v.window.cwnd >= before);
    run.acks(1, 120);
    let took = 240 + acks;
    assert_eq!(run.w.stage, Stage::Avoidance { until: Instant::ZERO + ms(10 + took + 9 * took) });
}

#[test]
fn congestion_halves_it() {
    let mut run = Run::avoiding(20, 30);
    assert_eq!(run.w.after_congestion(Congestion::Loss, &run.v), Window { cwnd: 10_000, ssthresh: 10_000 });
}
