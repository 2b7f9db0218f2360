//! Strategies for property tests.

use std::net::SocketAddr;

use ackclock_units::{Ecn, SeqNumber, SeqRange};
use ackclock_wire::{AccEcn, Flags, Options, SackBlocks, Segment, Timestamps};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Any sequence number, those around the wrap more often.
pub fn seq_number() -> impl Strategy<Value = SeqNumber> + Clone {
    prop_oneof![any::<u32>(), Just(0), Just(u32::MAX), Just(1 << 31)].prop_map(SeqNumber)
}

/// Any SACK blocks, sensible or not.
pub fn sack_blocks(most: usize) -> impl Strategy<Value = SackBlocks> + Clone {
    vec((seq_number(), seq_number()), 0..=most).prop_map(|blocks| {
        let mut sack = SackBlocks::NONE;
        for (start, end) in blocks {
            sack.push(SeqRange::new(start, end));
        }
        sack
    })
}

/// Any option of accurate ECN feedback.
pub fn accecn() -> impl Strategy<Value = AccEcn> + Clone {
    (any::<bool>(), vec(any::<u32>(), 0..=3)).prop_map(|(order, counters)| {
        AccEcn::new(if order { AccEcn::ORDER_1 } else { AccEcn::ORDER_0 }, &counters)
    })
}

/// Any options that fit into a header.
pub fn options() -> impl Strategy<Value = Options> + Clone {
    let timestamps = any::<(u32, u32)>().prop_map(|(tsval, tsecr)| Timestamps { tsval, tsecr });
    (
        option::of(any::<u16>()),
        option::of(any::<u8>()),
        any::<bool>(),
        option::of(timestamps),
        sack_blocks(4),
        option::of(accecn()),
    )
        .prop_map(|(mss, window_scale, sack_permitted, timestamps, sack, accecn)| Options {
            mss,
            window_scale,
            sack_permitted,
            timestamps,
            sack,
            accecn,
        })
        .prop_filter("fits into 40 bytes", |o| o.wire_len() <= 40)
}

/// Any segment that can be written, with up to `max_len` bytes of payload.
pub fn segment(max_len: u32) -> impl Strategy<Value = Segment> + Clone {
    (seq_number(), seq_number(), 0..=max_len, any::<u16>(), 0..=Flags::ALL.0, any::<u16>(), options())
        .prop_map(|(seq, ack, len, window, flags, urgent, options)| Segment {
            seq,
            ack,
            len,
            window,
            flags: Flags(flags),
            urgent,
            options,
        })
}

/// Two endpoints of one family, IPv4 or IPv6.
pub fn endpoints() -> impl Strategy<Value = (SocketAddr, SocketAddr)> + Clone {
    let ports = any::<(u16, u16)>();
    prop_oneof![
        (any::<([u8; 4], [u8; 4])>(), ports)
            .prop_map(|((a, b), (p, q))| (SocketAddr::from((a, p)), SocketAddr::from((b, q)))),
        (any::<([u8; 16], [u8; 16])>(), ports)
            .prop_map(|((a, b), (p, q))| (SocketAddr::from((a, p)), SocketAddr::from((b, q)))),
    ]
}

/// Any ECN field.
pub fn ecn() -> impl Strategy<Value = Ecn> + Clone {
    any::<u8>().prop_map(Ecn::from_bits)
}
