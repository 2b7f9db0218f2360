use super::*;

const MSS: u32 = 1000;

fn seq(n: u32) -> SeqNumber {
    SeqNumber(n.wrapping_mul(MSS).wrapping_sub(2500))
}

fn segs(a: u32, b: u32) -> SeqRange {
    SeqRange::new(seq(a), seq(b))
}

/// Ten segments of a thousand bytes, across the wrap of the sequence space.
fn ten() -> OutstandingSegments {
    let mut b = OutstandingSegments::new();
    for i in 0..10 {
        b.push(seq(i), MSS, false, Instant::from_nanos(u64::from(i)));
    }
    b
}

fn pipe(b: &OutstandingSegments) -> u32 {
    let outstanding: u32 = b.sent.iter().map(Sent::len).sum();
    b.in_network(outstanding, 0)
}

#[test]
fn sacks_merge_and_count_once() {
    let mut b = ten();
    assert_eq!(b.sack(segs(2, 3)), MSS);
    assert_eq!(b.sack(segs(4, 6)), 2 * MSS);
    assert_eq!(b.sack(segs(2, 3)), 0);
    assert_eq!(b.sacked(), [segs(2, 3), segs(4, 6)]);
    assert_eq!(b.sack(segs(1, 7)), 3 * MSS);
    assert_eq!(b.sacked(), [segs(1, 7)]);
    assert_eq!(b.sack(segs(7, 8)), MSS);
    assert_eq!(b.sacked(), [segs(1, 8)]);
    assert_eq!(pipe(&b), 3 * MSS);
}

#[test]
fn parts_of_segments_and_blocks_outside_are_ignored() {
    let mut b = ten();
    assert_eq!(b.sack(SeqRange::new(seq(3) + 1, seq(4))), 0);
    assert_eq!(b.sack(SeqRange::new(seq(3) + 1, seq(5) + 999)), MSS);
    assert_eq!(b.sacked(), [segs(4, 5)]);
    assert_eq!(b.sack(SeqRange::new(seq(20), seq(30))), 0);
    assert_eq!(b.sack(SeqRange::new(seq(9), seq(30))), MSS);
    assert_eq!(b.sack(SeqRange::new(seq(5), seq(4))), 0);
}

#[test]
fn losses_wait_until_retransmitted() {
    let mut b = ten();
    b.sack(segs(3, 6));
    b.mark_lost(segs(0, 4));
    assert_eq!(pipe(&b), 4 * MSS);
    assert_eq!(b.next_lost(seq(0)), Some(segs(0, 1)));
    let now = Instant::from_nanos(99);
    assert_eq!(b.retransmit(seq(0), MSS, now), Some((segs(0, 1), false)));
    assert_eq!(pipe(&b), 5 * MSS);
    assert_eq!(b.next_lost(seq(0)), Some(segs(1, 2)));
    assert_eq!(b.next_lost(seq(2)), Some(segs(2, 3)));
    assert_eq!(b.next_lost(seq(3)), None);
    // Marked again: the retransmission counts as lost too.
    b.mark_lost(segs(0, 1));
    assert_eq!(pipe(&b), 4 * MSS);
    assert_eq!(b.next_lost(seq(0)), Some(segs(0, 1)));
    assert!(b.has_lost());
    b.acknowledge(seq(3));
    assert!(!b.has_lost());
    assert_eq!(pipe(&b), 4 * MSS);
}

#[test]
fn acknowledgments_remove_whole_segments_and_parts() {
    let mut b = ten();
    b.sack(segs(1, 2));
    b.retransmit(seq(2), MSS, Instant::from_nanos(50));
    let a = b.acknowledge(seq(3) + 500);
    assert_eq!((a.segments, a.newly_delivered), (4, 2500));
    assert_eq!(a.oldest_sent_once, Some(Instant::from_nanos(0)));
    assert!(a.retransmitted);
    assert_eq!(b.segment(seq(3) + 500).unwrap().range, SeqRange::new(seq(3) + 500, seq(4)));
    assert_eq!(pipe(&b), 6500);
    let a = b.acknowledge(seq(10));
    assert_eq!((a.segments, a.newly_delivered), (7, 6500));
    assert!(b.is_empty() && pipe(&b) == 0);
}

#[test]
fn a_long_segment_is_split_for_a_shorter_limit() {
    let mut b = OutstandingSegments::new();
    b.push(seq(0), MSS + 1, true, Instant::ZERO);
    let now = Instant::from_nanos(9);
    assert_eq!(b.retransmit(seq(0), 600, now), Some((SeqRange::new(seq(0), seq(0) + 600), false)));
    assert_eq!(b.retransmit(seq(0) + 600, 600, now), Some((SeqRange::new(seq(0) + 600, seq(1) + 1), true)));
}

#[test]
fn next_unsacked_jumps_over_ranges() {
    let mut b = ten();
    b.sack(segs(0, 4));
    b.sack(segs(5, 10));
    assert_eq!(b.next_unsacked(seq(0)), Some(segs(4, 5)));
    assert_eq!(b.next_unsacked(seq(5)), None);
    assert!(b.reneged());
    b.forget_sacks();
    assert!(!b.reneged() && b.sacked().is_empty());
    assert_eq!(pipe(&b), 10 * MSS);
}

#[test]
fn a_window_probe_can_be_removed() {
    let mut b = ten();
    b.push(seq(10), 1, false, Instant::ZERO);
    b.pop_back();
    assert_eq!(pipe(&b), 10 * MSS);
}

#[test]
fn saved_marks_are_restored() {
    let mut b = ten();
    b.mark_lost(segs(1, 3));
    b.retransmit(seq(1), MSS, Instant::from_nanos(20));
    assert_eq!(pipe(&b), 9 * MSS, "two are lost, and one of them is retransmitted");
    b.save_marks(true);
    b.mark_lost(segs(0, 10));
    b.retransmit(seq(0), MSS, Instant::from_nanos(30));
    assert_eq!(pipe(&b), MSS);
    b.sack(segs(2, 3));
    b.push(seq(10), MSS, false, Instant::from_nanos(40));
    b.restore_marks(false);
    assert_eq!(pipe(&b), 10 * MSS, "eleven outstanding, one of them SACKed since");
    assert_eq!(b.next_lost(seq(0)), None);
    b.acknowledge(seq(11));
    assert_eq!(pipe(&b), 0);
}

#[test]
fn times_of_segments_are_right_beyond_the_range_of_40_bits() {
    let at = |s: u64| Instant::ZERO + Duration::from_secs(s);
    let mut b = OutstandingSegments::new();
    b.push(seq(0), MSS, false, at(5));
    let times = |b: &OutstandingSegments| b.segments_from(seq(0)).map(|s| s.xmit_ts).collect::<Vec<_>>();
    // Beyond the range of 40 bits the epoch is moved.
    b.push(seq(1), MSS, false, at(900));
    b.push(seq(2), MSS, false, at(1100));
    assert_eq!(times(&b), [at(5), at(900), at(1100)]);
    b.retransmit(seq(0), MSS, at(1105));
    assert_eq!(times(&b), [at(1105), at(900), at(1100)]);
    b.retransmit(seq(0), MSS, at(10_000));
    assert_eq!(times(&b), [at(10_000), at(9100), at(9100)], "at most a quarter of an hour ago");
    b.acknowledge(seq(3));
    b.push(seq(3), MSS, false, at(90_000));
    assert_eq!(b.oldest_sent_at(), Some(at(90_000)));
}

#[test]
fn transmissions_count_to_four() {
    let mut b = ten();
    for n in [1, 2, 3, 4, 4] {
        assert_eq!(b.segment(seq(3)).map(|s| (s.transmissions, s.lost)), Some((n, false)));
        b.retransmit(seq(3), MSS, Instant::from_nanos(20));
    }
    b.mark_lost(segs(3, 4));
    assert_eq!(
        b.segment(seq(3)).map(|s| (s.transmissions, s.lost)),
        Some((4, true)),
        "marks do not change the count"
    );
    assert_eq!(b.acknowledge(seq(3)).oldest_sent_once, Some(Instant::ZERO));
    assert!(b.acknowledge(seq(4)).retransmitted);
}

#[test]
fn packets_are_what_left_together_and_what_is_sacked_side_by_side() {
    let mut b = OutstandingSegments::new();
    assert_eq!(b.packets(), 0);
    for i in 0..10 {
        b.push(seq(i), MSS, false, Instant::from_nanos(u64::from(i / 4)));
    }
    assert_eq!(b.packets(), 3, "of four, four and two");
    b.sack(segs(1, 2));
    assert_eq!(b.packets(), 5);
    b.sack(segs(2, 6));
    assert_eq!(b.packets(), 4, "what is SACKed becomes one");
    b.retransmit(seq(7), MSS, Instant::from_nanos(99));
    assert_eq!(b.packets(), 5);
    b.acknowledge(seq(8));
    assert_eq!(b.packets(), 1);
}
