//! When the congestion window may grow: while it is in use (RFC 7661 §4.3), and always after a timeout (RFC
//! 5681 §3.1).

use ackclock_testkit::timeline::{Timeline, ms, seg};
use ackclock_testkit::{Setup, choose};

/// Segments of 1000 bytes, a window of ten, every segment acknowledged.
fn open(recovery: &str, window: &str) -> Timeline {
    let setup =
        Setup::default().with_policies(|s| (s.recovery, s.window) = (choose(recovery), choose(window)));
    Timeline::connected(&setup, seg("S.").ack(1).mss(1000).window(60_000).sack_permitted(true))
}

fn cwnd_segs(t: &mut Timeline) -> u64 {
    let now = t.now();
    t.as_mut().view(now).window.cwnd / 1000
}

/// Injects the ack of each of `segments`, a millisecond apart from `at` on; the window after each, in
/// segments.
fn acks(t: &mut Timeline, at: u64, segments: std::ops::RangeInclusive<u32>) -> Vec<u64> {
    let ack = |(i, n): (u64, u32)| {
        t.inject(at + i, seg(".").ack(1 + n * 1000).window(60_000));
        cwnd_segs(t)
    };
    (0..).zip(segments).map(ack).collect()
}

#[test]
fn after_a_timeout_the_window_grows_whether_or_not_more_is_to_be_sent() {
    for recovery in ["tahoe", "reno", "newreno", "sack", "fack", "rack"] {
        for window in ["reno", "cubic"] {
            for more in [0, 100_000] {
                let mut t = open(recovery, window);
                t.write(1000);
                t.inject(20, seg(".").ack(1001).window(60_000));
                t.write(10_000 + more);
                // All ten are lost, and the timer retransmits the first.
                t.run_to(1500);
                t.take_sent();
                assert_eq!(
                    (t.as_mut().stats().timeouts, cwnd_segs(&mut t)),
                    (1, 1),
                    "{recovery} x {window}, {more} more"
                );
                let grown = acks(&mut t, 1520, 2..=5);
                assert_eq!(grown, [2, 3, 4, 5], "RFC 5681 §3.1: {recovery} x {window}, {more} more");
            }
        }
    }
}

#[test]
fn one_segment_of_ten_does_not_grow_the_window() {
    for window in ["reno", "cubic"] {
        let mut t = open("sack", window);
        t.write(1000);
        assert_eq!(acks(&mut t, 20, 1..=1), [10], "{window}");
    }
}

#[test]
fn a_window_of_which_half_is_used_grows() {
    // RFC 7661 §4.3: at least half of it is acknowledged in a round trip. Ten of ten double it, and ten of
    // twenty are still half of it.
    for window in ["reno", "cubic"] {
        let mut t = open("sack", window);
        t.write(10_000);
        assert_eq!(acks(&mut t, 20, 1..=10), [11, 12, 13, 14, 15, 16, 17, 18, 19, 20], "{window}");
        t.write(10_000);
        assert_eq!(acks(&mut t, 50, 11..=13), [21, 21, 21], "{window}");
    }
    let mut t = open("sack", "reno");
    t.write(4000);
    assert_eq!(acks(&mut t, 20, 1..=4), [10; 4]);
}

#[test]
fn the_used_window_is_forgotten_after_the_sampling_period() {
    // RFC 7661 §4.2: a second, or three round trips.
    let mut t = open("sack", "reno");
    t.write(10_000);
    acks(&mut t, 20, 1..=10);
    let grown = |t: &mut Timeline, at: u64, next: u32| {
        let before = cwnd_segs(t);
        t.run_to(at - 10);
        t.write(1000);
        acks(t, at, next..=next)[0] > before
    };
    assert!(grown(&mut t, 200, 11), "20 segments, of which ten were used a moment ago");
    assert!(!grown(&mut t, 400, 12), "21 segments");
    // Nor does a window of ten grow, with one segment used in the last second.
    t.run_to(3000);
    assert_eq!(t.now(), ms(3000));
    assert!(!grown(&mut t, 3010, 13));
}
