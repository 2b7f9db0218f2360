//! Packets that are no retransmissions: data captured after its own ack, keepalives that a duplicate SACK
//! reports.

use std::net::SocketAddr;

use ackclock_capture::{Analysis, Beginning, CapturedSegment, Cause, Direction, Options};
use ackclock_units::{Instant, SeqNumber, SeqRange};
use ackclock_wire::{Flags, Segment};

/// A packet: ms, whether the client sent it, number, acknowledgment, payload, SACK block.
type Line = (u64, bool, u32, u32, u32, Option<(u32, u32)>);

/// The client's direction.
fn client(lines: &[Line]) -> Direction {
    let mut analysis = Analysis::new(Options::default());
    for &(ms, from_client, seq, ack, len, sack) in lines {
        let (client, server) =
            (SocketAddr::from(([192, 0, 2, 1], 40_000)), SocketAddr::from(([192, 0, 2, 2], 80)));
        let (src, dst) = if from_client { (client, server) } else { (server, client) };
        let flags = Flags::ACK;
        let mut segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            flags,
            window: 60_000,
            len,
            ..Segment::default()
        };
        if let Some((start, end)) = sack {
            segment.options.sack.push(SeqRange::new(SeqNumber(start), SeqNumber(end)));
        }
        let at = Instant::from_nanos((1_000_000 + ms) * 1_000_000);
        let seen = CapturedSegment {
            at,
            src,
            dst,
            id: 0,
            hops: 64,
            interface: 0,
            options_cut: false,
            frame: 0,
            beginning: Beginning::default(),
            segment,
        };
        analysis.packet(at, Ok(seen));
    }
    analysis.finish().connections.remove(0).directions[0].clone()
}

#[test]
fn data_that_is_captured_after_its_own_ack_is_no_retransmission() {
    let d = client(&[
        (0, true, 1, 1, 1000, None),
        (40, false, 1, 1001, 0, None),
        // The ack of 1001..3001 before that data.
        (80, false, 1, 3001, 0, None),
        (80, true, 1001, 1, 1000, None),
        (81, true, 2001, 1, 1000, None),
        (90, true, 3001, 1, 1000, None),
        (130, false, 1, 4001, 0, None),
    ]);
    assert!(d.retransmissions.is_empty(), "{:?}", d.retransmissions);
    assert_eq!((d.retransmitted_packets, d.missing_bytes, d.reordered, d.unique_bytes), (0, 0, 2, 4000));
}

#[test]
fn data_that_comes_twice_after_its_own_ack_is_a_retransmission_once() {
    let d = client(&[
        (0, true, 1, 1, 1000, None),
        (40, false, 1, 1001, 0, None),
        (80, false, 1, 2001, 0, None),
        (80, true, 1001, 1, 1000, None),
        (400, true, 1001, 1, 1000, None),
    ]);
    assert_eq!((d.retransmitted_packets, d.missing_bytes, d.reordered), (1, 0, 1));
}

#[test]
fn a_keepalive_that_a_duplicate_sack_reports_is_no_copy_of_the_network() {
    let keepalive = |len| {
        client(&[
            (0, true, 1, 1, 1000, None),
            (40, false, 1, 1001, 0, None),
            (10_040, true, 1000, 1, len, None),
            (10_080, false, 1, 1001, 0, Some((1000, 1001))),
            (20_040, true, 1000, 1, len, None),
            (20_080, false, 1, 1001, 0, Some((1000, 1001))),
        ])
    };
    for d in [0, 1].map(keepalive) {
        assert_eq!(d.of_cause(Cause::Keepalive), 2, "{:?}", d.retransmissions);
        assert_eq!((d.network_duplicates, d.spurious_packets, d.retransmitted_packets), (0, 0, 0));
    }
}

trait OfCause {
    fn of_cause(&self, cause: Cause) -> usize;
}

impl OfCause for Direction {
    fn of_cause(&self, cause: Cause) -> usize {
        self.retransmissions.iter().filter(|r| r.cause == cause).count()
    }
}
