//! A packet stores a segment without loss.

use ackclock_trace::SendKind;
use ackclock_units::{Ecn, SeqRange};
use ackclock_wire::AccEcn;

use super::*;
use crate::fault::PacketKind;

/// A segment at stream position `offset` of a stream whose first byte has the sequence number 4,000,000,000.
fn transmit(offset: u64, len: u32, flags: Flags, options: Options) -> Transmit {
    let segment = Segment {
        seq: FIRST + offset as u32,
        ack: SeqNumber(7),
        len,
        window: 300,
        flags,
        urgent: 0,
        options,
    };
    Transmit { segment, offset, kind: SendKind::New, retransmission: false, ecn: Ecn::Ect0 }
}

const FIRST: SeqNumber = SeqNumber(4_000_000_000);

#[test]
fn a_packet_returns_its_segment_position_and_size() {
    let mut sack = SackBlocks::default();
    sack.push(SeqRange::new(SeqNumber(10), SeqNumber(20)));
    let timestamps = Some(Timestamps { tsval: 5, tsecr: 6 });
    let plain = Options::default();
    let syn = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps,
        ..Options::default()
    };
    let accecn = Some(AccEcn::new(AccEcn::ORDER_1, &[1, 2, 3]));
    let all = Flags(Flags::ALL.0 & !Flags::URG.0 & !Flags::SYN.0);
    let shapes = [
        (0, 0, Flags::SYN, syn),
        (0, 1000, Flags::ACK, plain),
        (5_000_000_000, 65_483, Flags::ACK | Flags::PSH, Options { timestamps, ..plain }),
        ((1 << 48) - 1, 1, Flags::ACK, Options { timestamps, sack, ..plain }),
        (12_345, 0, Flags::ACK, Options { sack, ..plain }),
        (12_345, 0, Flags::ACK | Flags::FIN, plain),
        (12_345, 10, all, plain),
        (12_345, 0, Flags::ACK | Flags::AE, Options { accecn, ..plain }),
        (12_345, 10, Flags::ACK, Options { accecn, timestamps, sack, ..plain }),
    ];
    let mut pool = Pool::new();
    for (offset, len, flags, options) in shapes {
        let t = transmit(offset, len, flags, options);
        let id = pool.segment(3, &t, true, 9);
        let copy = pool.copy(id);
        for id in [id, copy] {
            let p = pool.get(id);
            assert!(p.is_retransmission() && p.ecn() == Ecn::Ect0 && p.seen == 9 && p.from == 3);
            if len > 0 {
                assert_eq!((p.offset(), p.end()), (offset, offset + u64::from(len)));
            }
            assert_eq!(pool.bytes(id), 20 + t.segment.header_len() + len);
            assert_eq!(pool.packet_info(id).bytes, pool.bytes(id));
            assert_eq!(pool.take(id, FIRST), t.segment);
        }
    }
    let id = pool.datagram(4, 70_000, 1 << 40);
    assert_eq!(
        (pool.bytes(id), pool.get(id).offset(), pool.packet_info(id).kind),
        (70_000, 1 << 40, PacketKind::Datagram)
    );
    assert_eq!(
        pool.alive_ids().collect::<Vec<_>>(),
        [id],
        "every slot but that of the datagram is free again"
    );
}

#[test]
fn insertion_numbers_are_restored_from_their_lower_bits() {
    let mut p = Packet::FREE;
    for order in [0, 1, u64::from(u32::MAX), 1 << 32, (7 << 32) - 1, u64::MAX - u64::from(u32::MAX)] {
        p.arrives(Instant::ZERO, order);
        for latest in [order, order + 1, order + 1000, order + u64::from(u32::MAX)] {
            assert_eq!(p.order(latest), order, "when {latest} is the latest");
        }
    }
}

#[test]
fn arrival_times_are_restored_from_their_lower_bits() {
    let mut p = Packet::FREE;
    for now in [0, 1, Packet::SPAN - 1, Packet::SPAN, 5 * Packet::SPAN + 12_345, u64::MAX - Packet::SPAN] {
        for ahead in [0, 1, 1 << 32, Packet::SPAN - 1] {
            p.arrives(Instant::from_nanos(now + ahead), 0);
            assert_eq!(
                p.at(Instant::from_nanos(now)),
                Instant::from_nanos(now + ahead),
                "{ahead} ns after {now}"
            );
        }
    }
}

#[test]
fn a_packet_is_small() {
    assert_eq!(size_of::<Packet>(), 36);
}
