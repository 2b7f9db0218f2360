//! ICMP errors, correct ones and those of an adversary.

use std::net::{IpAddr, SocketAddr};

use ackclock_testkit::{generate, icmp_header, icmp_packet, packet};
use ackclock_units::{Ecn, SeqNumber};
use ackclock_wire::{
    IcmpError, IcmpKind, Segment, Strictness, WireError, parse_icmp_error, parse_ip, parse_ip_as,
};
use proptest::prelude::*;

const OURS: [&str; 2] = ["192.0.2.1:40000", "[2001:db8::1]:40000"];
const THEIRS: [&str; 2] = ["192.0.2.2:80", "[2001:db8::2]:80"];
const ROUTER: [&str; 2] = ["198.51.100.9", "2001:db8:9::9"];

fn ends(v6: bool) -> (SocketAddr, SocketAddr, IpAddr) {
    let i = usize::from(v6);
    (OURS[i].parse().unwrap(), THEIRS[i].parse().unwrap(), ROUTER[i].parse().unwrap())
}

/// A packet of ours with 100 bytes, as a router quotes it.
fn ours(v6: bool) -> Vec<u8> {
    let (from, to, _) = ends(v6);
    packet(
        from,
        to,
        &Segment { seq: SeqNumber(0xdead_beef), len: 100, ..Segment::default() },
        &[7; 100],
        Ecn::NotEct,
    )
}

fn message(v6: bool, kind: [u8; 2], word: u32, quoted: &[u8]) -> Vec<u8> {
    let (from, _, router) = ends(v6);
    icmp_packet(router, from.ip(), kind, word, quoted)
}

fn read(bytes: &[u8]) -> Result<IcmpError, WireError> {
    parse_icmp_error(&parse_ip(bytes)?, Strictness::FULL)
}

#[test]
fn types_and_codes_are_distinguished() {
    use IcmpKind::{ParameterProblem, SourceQuench, TimeExceeded, TooBig, Unreachable};
    let v4: &[([u8; 2], u32, IcmpKind)] = &[
        ([3, 0], 0, Unreachable(0)),
        ([3, 1], 0, Unreachable(1)),
        ([3, 3], 0, Unreachable(3)),
        ([3, 13], 0, Unreachable(13)),
        ([3, 4], 1400, TooBig { mtu: 1400 }),
        // The upper half is unused (RFC 1191 §4), and old routers set all of it to zero.
        ([3, 4], 0xffff_0044, TooBig { mtu: 68 }),
        ([3, 4], 0, TooBig { mtu: 0 }),
        ([4, 0], 0, SourceQuench),
        ([11, 0], 0, TimeExceeded),
        ([11, 1], 0, TimeExceeded),
        ([12, 0], 0x0100_0000, ParameterProblem),
    ];
    let v6: &[([u8; 2], u32, IcmpKind)] = &[
        ([1, 0], 0, Unreachable(0)),
        ([1, 4], 0, Unreachable(4)),
        ([2, 0], 1400, TooBig { mtu: 1400 }),
        ([2, 0], u32::MAX, TooBig { mtu: u32::MAX }),
        ([3, 0], 0, TimeExceeded),
        ([4, 1], 40, ParameterProblem),
    ];
    for (is_v6, cases) in [(false, v4), (true, v6)] {
        let (from, to, _) = ends(is_v6);
        for &(kind, word, meaning) in cases {
            let packet_len = ours(is_v6).len() as u32;
            let expected = IcmpError { kind: meaning, from, to, seq: SeqNumber(0xdead_beef), packet_len };
            assert_eq!(read(&message(is_v6, kind, word, &ours(is_v6))), Ok(expected), "{kind:?}");
        }
    }
}

#[test]
fn messages_that_report_no_error_are_refused() {
    for (v6, kinds) in [(false, [0, 5, 8, 13, 255]), (true, [0, 5, 128, 129, 135])] {
        for kind in kinds {
            assert_eq!(read(&message(v6, [kind, 0], 0, &ours(v6))), Err(WireError::NotIcmpError(kind)));
        }
    }
    assert_eq!(read(&ours(false)), Err(WireError::NotIcmp(6)));
    // ICMP of the other family.
    let mut wrong = message(true, [1, 0], 0, &ours(true));
    wrong[6] = 1;
    assert_eq!(read(&wrong), Err(WireError::NotIcmp(1)));
}

#[test]
fn eight_bytes_of_the_segment_are_enough_and_fewer_are_not() {
    for (v6, kind, ip) in [(false, [3, 1], 20), (true, [1, 3], 40)] {
        let quoted = ours(v6);
        for n in 0..=quoted.len() {
            match read(&message(v6, kind, 0, &quoted[..n])) {
                Ok(error) => assert!(
                    n >= ip + 8
                        && error.seq == SeqNumber(0xdead_beef)
                        && error.packet_len == quoted.len() as u32
                ),
                Err(e) => assert!(n < ip + 8 && matches!(e, WireError::Truncated { .. }), "{n}: {e}"),
            }
        }
        // And a message that ends within its own header.
        let (from, _, router) = ends(v6);
        let whole = icmp_packet(router, from.ip(), kind, 0, &[]);
        for cut in 1..8 {
            let mut short = whole[..whole.len() - cut].to_vec();
            let len = if v6 { 8 - cut } else { 28 - cut } as u16;
            let at = if v6 { 4 } else { 2 };
            short[at..at + 2].copy_from_slice(&len.to_be_bytes());
            let parsed = parse_ip_as(&short, Strictness::OFFLOAD).unwrap();
            assert_eq!(
                parse_icmp_error(&parsed, Strictness::OFFLOAD),
                Err(WireError::Truncated { what: "ICMP header", needed: 8, got: 8 - cut })
            );
        }
    }
}

#[test]
fn every_flipped_bit_of_the_message_breaks_the_checksum() {
    for (v6, kind, ip) in [(false, [3, 1], 20), (true, [1, 3], 40)] {
        let good = message(v6, kind, 0, &ours(v6)[..ip + 8]);
        for bit in ip * 8..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&bad), Err(WireError::Checksum { what: "ICMP" }), "bit {bit}");
            // Without checksums the message is parsed.
            let _ = parse_icmp_error(&parse_ip_as(&bad, Strictness::OFFLOAD).unwrap(), Strictness::OFFLOAD);
        }
    }
}

#[test]
fn quotations_of_other_packets_are_refused() {
    let quote = |change: fn(&mut Vec<u8>)| {
        let mut quoted = ours(false);
        change(&mut quoted);
        read(&message(false, [3, 1], 0, &quoted))
    };
    assert_eq!(quote(|q| q[9] = 17), Err(WireError::NotTcp(17)));
    assert_eq!(quote(|q| q[7] = 1), Err(WireError::Fragment));
    assert_eq!(quote(|q| q[0] = 0x65), Err(WireError::Version(6)));
    assert_eq!(quote(|q| q[0] = 0x44), Err(WireError::HeaderLength { what: "quoted IPv4", len: 16 }));
    assert!(matches!(
        quote(|q| {
            q.truncate(28);
            q[0] = 0x4f
        }),
        Err(WireError::Truncated { .. })
    ));
    let mut quoted = ours(true);
    quoted[6] = 44;
    assert_eq!(read(&message(true, [1, 0], 0, &quoted)), Err(WireError::NotTcp(44)));
    assert_eq!(read(&message(true, [1, 0], 0, &ours(false))), Err(WireError::Version(4)));
}

proptest! {
    #[test]
    fn errors_come_back_as_written(segment in generate::segment(100), (from, to) in generate::endpoints(), mtu in any::<u16>(), which in 0..5) {
        let v6 = from.is_ipv6();
        let kind = match which {
            0 => IcmpKind::Unreachable(1),
            1 => IcmpKind::TooBig { mtu: mtu.into() },
            2 => IcmpKind::TimeExceeded,
            3 => IcmpKind::ParameterProblem,
            _ if v6 => IcmpKind::TooBig { mtu: u32::from(mtu) << 16 },
            _ => IcmpKind::SourceQuench,
        };
        let quoted = packet(from, to, &segment, &vec![0; segment.len as usize], Ecn::NotEct);
        let (header, word) = icmp_header(kind, v6);
        let error = read(&icmp_packet(to.ip(), from.ip(), header, word, &quoted));
        prop_assert_eq!(error, Ok(IcmpError { kind, from, to, seq: segment.seq, packet_len: quoted.len() as u32 }));
    }

    #[test]
    fn a_mutated_message_never_panics(v6 in any::<bool>(), kind in any::<[u8; 2]>(), word in any::<u32>(), edits in proptest::collection::vec(any::<(u16, u8)>(), 0..8), keep in any::<u16>()) {
        let mut bytes = message(v6, kind, word, &ours(v6));
        for (at, byte) in edits {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - usize::from(keep) % 60);
        for strict in [Strictness::FULL, Strictness::OFFLOAD, Strictness::CAPTURE] {
            if let Ok(packet) = parse_ip_as(&bytes, strict) {
                let _ = parse_icmp_error(&packet, strict);
            }
        }
    }
}
