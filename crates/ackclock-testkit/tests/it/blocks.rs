//! SACK blocks of overlapping segments, and invalid ones: RFC 2883 §4, RFC 2018 §8.

use ackclock_testkit::timeline::{Seg, Timeline, seg};
use ackclock_testkit::{Setup, choose};

fn syn_ack() -> Seg {
    seg("S.").ack(1).mss(1000)
}

#[test]
fn the_part_of_a_segment_that_arrived_before_is_reported() {
    // RFC 2883 §4.1 and §4.2, the examples, with segments of 500 bytes.
    let setup =
        Setup::default().with(|c| c.window_scaling = false).with_policies(|s| s.ack = choose("every"));
    let new = || Timeline::connected(&setup, syn_ack().sack_permitted(true));
    // Below the acknowledgment; the rest fills the hole.
    let mut t = new();
    for (at, seq, len, reply) in [
        (0, 1, 500, seg(".").ack(501).no_sack()),
        (1, 1501, 500, seg(".").ack(501).sack(1501, 2001)),
        (2, 501, 500, seg(".").ack(1001).sack(1501, 2001)),
        (3, 501, 1500, seg(".").ack(2001).sack(501, 1001)),
    ] {
        t.inject(at, seg(".").seq(seq).len(len));
        t.expect(at, reply);
    }
    t.read(2000);
    // In order, overlapping data held after the hole.
    let mut t = new();
    for (at, seq, len, reply) in [
        (0, 501, 500, seg(".").ack(1).sack(501, 1001)),
        (1, 1001, 500, seg(".").ack(1).sack(501, 1501)),
        (2, 1, 1500, seg(".").ack(1501).sack(501, 1501)),
        (3, 1501, 500, seg(".").ack(2001).no_sack()),
    ] {
        t.inject(at, seg(".").seq(seq).len(len));
        t.expect(at, reply);
    }
    t.read(2000);
    // Out of order, overlapping either end of the held data.
    let mut t = new();
    for (at, seq, len, reply) in [
        (0, 2001, 1000, seg(".").ack(1).sack(2001, 3001)),
        (1, 2501, 1000, seg(".").ack(1).sack(2501, 3001).sack(2001, 3501)),
        (2, 1501, 1000, seg(".").ack(1).sack(2001, 2501).sack(1501, 3501)),
        (3, 1001, 3000, seg(".").ack(1).sack(1501, 3501).sack(1001, 4001)),
        // Two parts arrived before: one of them is reported.
        (4, 5001, 500, seg(".").ack(1).sack(5001, 5501).sack(1001, 4001)),
        (5, 3501, 2500, seg(".").ack(1).sack(3501, 4001).sack(1001, 6001)),
    ] {
        t.inject(at, seg(".").seq(seq).len(len));
        t.expect(at, reply);
    }
    t.inject(6, seg(".").seq(1).len(1000));
    t.expect(6, seg(".").ack(6001).no_sack());
    t.read(6000);
    assert_eq!(t.endpoint.connection.stats().duplicate_segments, 0, "no whole segment arrived twice");
}

#[test]
fn a_sack_block_of_data_never_sent_is_ignored() {
    let mut t = Timeline::connected(
        &Setup::default().with(|c| c.window_scaling = false),
        syn_ack().sack_permitted(true),
    );
    t.write(10_000);
    assert_eq!(t.take_sent().len(), 10);
    for (at, (start, end)) in [(1001, 10_002), (1001, 0x7000_0000), (9001, 11_001)].into_iter().enumerate() {
        t.inject(10 + at as u64, seg(".").ack(1).sack(start, end));
    }
    t.expect_silence(100);
    assert!(!t.endpoint.connection.has_sacked_data(), "{t}");
    t.inject(110, seg(".").ack(1).sack(1001, 10_001));
    t.expect(110, seg(".").seq(1).len(1000));
}

#[test]
fn sack_blocks_may_hold_any_numbers() {
    // Edges half of the sequence space away pass circular comparisons, and once led beyond the scoreboard.
    for recovery in ["sack", "fack", "rack"] {
        let setup = Setup::default().with_policies(|s| s.recovery = choose(recovery));
        let numbers = (0..16)
            .flat_map(|n: u32| [-1_001, -1, 0, 1, 1000, 1001].map(|d: i32| (n << 28).wrapping_add(d as u32)));
        let numbers: Vec<u32> = numbers.chain([0x6000_0000, 0xc000_0000, 0x7fff_ffff, 0x8000_0001]).collect();
        let mut t = Timeline::connected(&setup, syn_ack().sack_permitted(true));
        t.write(5000);
        t.take_sent();
        let mut at = 1;
        for start in &numbers {
            for end in &numbers {
                for (ack, second) in [(1, false), (1001, false), (1001, true)] {
                    let ack = seg(".").ack(ack);
                    // Alone, where it may also be a DSACK, and after a block without information.
                    t.inject(
                        at,
                        if second { ack.sack(0, 1).sack(*start, *end) } else { ack.sack(*start, *end) },
                    );
                }
            }
            at += 1;
        }
        let now = t.now();
        let v = t.as_mut().view(now);
        assert!(v.pipe <= 2 * v.flight_size && v.flight_size >= 4000, "{recovery}: {v:?}");
        t.take_sent();
        t.inject(at, seg(".").ack(5001));
        assert_eq!(t.as_mut().unacked(), 0, "{recovery}");
    }
}
