//! Bytes as an adversary or a broken device would send them.

use std::net::SocketAddr;

use ackclock_testkit::generate;
use ackclock_units::{Ecn, SeqNumber, SeqRange};
use ackclock_wire::{
    AccEcn, Flags, MAX_OPTIONS_LEN, Options, SackBlocks, Segment, Strictness, Timestamps, Transport,
    WireError, emit_options, emit_tcp, emit_tcp_header, emit_tcp_with, emit_udp, emit_udp_header,
    parse_captured, parse_ip, parse_ip_as, parse_options, tcp_packet_len,
};
use proptest::prelude::*;

const UNCHECKED: Strictness = Strictness::OFFLOAD;

fn v4(src: u16, dst: u16) -> (SocketAddr, SocketAddr) {
    (SocketAddr::from(([192, 0, 2, 1], src)), SocketAddr::from(([192, 0, 2, 2], dst)))
}

fn v6() -> (SocketAddr, SocketAddr) {
    ("[2001:db8::1]:1".parse().unwrap(), "[2001:db8::2]:2".parse().unwrap())
}

fn packet((src, dst): (SocketAddr, SocketAddr), payload: &[u8]) -> Vec<u8> {
    let timestamps = Some(Timestamps { tsval: 1, tsecr: 2 });
    let segment = Segment {
        len: payload.len() as u32,
        options: Options { timestamps, ..Options::default() },
        ..Segment::default()
    };
    let mut out = Vec::new();
    emit_tcp(src, dst, &segment, payload, Ecn::NotEct, &mut out).unwrap();
    out
}

#[test]
fn every_truncation_is_refused() {
    for ends in [v4(1, 2), v6()] {
        let whole = packet(ends, b"payload");
        for n in 0..whole.len() {
            assert!(
                matches!(parse_ip(&whole[..n]), Err(WireError::Truncated { .. })),
                "{n} of {}",
                whole.len()
            );
        }
        assert!(parse_ip(&whole).is_ok());
    }
}

#[test]
fn accurate_feedback_of_any_length_gives_the_counters_that_fit() {
    // RFC 9768 §3.2.3: of lengths other than 2, 5, 8 and 11 the complete counters are read.
    for (kind, len) in [172_u8, 174].into_iter().flat_map(|kind| (2..=40).map(move |len| (kind, len))) {
        let mut bytes: Vec<u8> = (0..len).collect();
        bytes[..2].copy_from_slice(&[kind, len]);
        let option = parse_options(&bytes).unwrap().accecn.unwrap();
        let all = [0x02_03_04, 0x05_06_07, 0x08_09_0a];
        let counters: Vec<u32> = option.counters().collect();
        assert_eq!(counters, all[..usize::from((len - 2) / 3).min(3)], "kind {kind}, length {len}");
        let at = |i: usize| counters.get(i).copied();
        let (first, last) =
            if kind == 172 { (option.e0b(), option.e1b()) } else { (option.e1b(), option.e0b()) };
        assert_eq!((first, option.ceb(), last), (at(0), at(1), at(2)));
        assert!(parse_options(&bytes[..usize::from(len) - 1]).is_err(), "cut");
    }
    for len in [0, 1] {
        assert_eq!(parse_options(&[172, len, 0, 0]), Err(WireError::TcpOption { kind: 172, len }));
    }
}

#[test]
fn accurate_feedback_fits_beside_two_blocks_and_timestamps() {
    let mut sack = SackBlocks::NONE;
    (0..2).for_each(|i| sack.push(SeqRange::new(SeqNumber(i), SeqNumber(i + 1))));
    let accecn = Some(AccEcn::new(AccEcn::ORDER_1, &[1, 2, 3]));
    let options = Options { timestamps: Some(Timestamps::default()), sack, accecn, ..Options::default() };
    assert_eq!(options.wire_len(), 40);
    let mut out = [0; MAX_OPTIONS_LEN];
    assert_eq!(emit_options(&options, &mut out), Ok(40));
    assert_eq!(parse_options(&out), Ok(options));
}

#[test]
fn the_flag_ae_is_the_lowest_bit_beside_the_data_offset() {
    let (src, dst) = v4(1, 2);
    let mut bytes = Vec::new();
    let segment = Segment { flags: Flags::AE | Flags::SYN, ..Segment::default() };
    emit_tcp(src, dst, &segment, &[], Ecn::NotEct, &mut bytes).unwrap();
    assert_eq!(bytes[32..34], [0x51, 0x02]);
    // The reserved bits beside it are ignored.
    bytes[32] |= 0x0e;
    let Transport::Tcp(tcp) = parse_ip_as(&bytes, UNCHECKED).unwrap().transport else { panic!("not TCP") };
    assert_eq!(tcp.segment.flags, Flags::AE | Flags::SYN);
}

#[test]
fn a_cut_packet_shows_the_fields_that_are_there() {
    for (ends, ip) in [(v4(1, 2), 20), (v6(), 40)] {
        let whole = packet(ends, b"payload");
        let seen = |n: usize| parse_captured(&whole[..n], whole.len()).map(|p| p.transport);
        for n in 0..whole.len() {
            match seen(n) {
                Err(WireError::Truncated { .. }) => assert!(n < ip + 20, "{n} bytes have the fixed header"),
                Ok(Transport::Tcp(tcp)) => {
                    assert!(n >= ip + 20);
                    // The length is known from the headers, the timestamps once they are complete.
                    assert_eq!((tcp.src_port, tcp.dst_port, tcp.segment.len), (1, 2, 7));
                    assert_eq!(tcp.segment.options.timestamps.is_some(), n >= ip + 32);
                    assert_eq!(tcp.payload.len(), n.saturating_sub(ip + 32));
                }
                other => panic!("{n} bytes: {other:?}"),
            }
        }
    }
}

#[test]
fn a_length_of_zero_means_the_length_on_the_wire() {
    for (ends, at) in [(v4(1, 2), 2), (v6(), 4)] {
        let mut p = packet(ends, b"payload");
        p[at..at + 2].copy_from_slice(&[0, 0]);
        assert!(parse_ip_as(&p, UNCHECKED).is_err(), "without `on_wire` it is an error");
        let Ok(Transport::Tcp(tcp)) = parse_captured(&p, 100_000).map(|p| p.transport) else {
            panic!("not TCP")
        };
        assert_eq!(tcp.segment.len as usize, 100_000 - p.len() + 7);
    }
}

#[test]
fn link_padding_is_left_out() {
    for ends in [v4(1, 2), v6()] {
        let mut padded = packet(ends, b"x");
        padded.extend_from_slice(&[0xaa; 6]);
        let Transport::Tcp(tcp) = parse_ip(&padded).unwrap().transport else { panic!("not TCP") };
        assert_eq!((tcp.segment.len, tcp.payload), (1, &b"x"[..]));
    }
}

#[test]
fn lying_length_fields_are_refused() {
    let mut p = packet(v4(1, 2), b"payload");
    p[2..4].copy_from_slice(&19_u16.to_be_bytes());
    assert_eq!(parse_ip_as(&p, UNCHECKED), Err(WireError::LengthField { what: "IPv4", len: 19, least: 20 }));
    p[2..4].copy_from_slice(&60_000_u16.to_be_bytes());
    assert!(matches!(
        parse_ip_as(&p, UNCHECKED),
        Err(WireError::Truncated { what: "IP packet", needed: 60_000, .. })
    ));
    // Long enough for IP, too short for a TCP header.
    p[2..4].copy_from_slice(&45_u16.to_be_bytes());
    assert_eq!(
        parse_ip_as(&p, UNCHECKED),
        Err(WireError::Truncated { what: "TCP header", needed: 32, got: 25 })
    );
    let mut p = packet(v6(), b"payload");
    p[4..6].copy_from_slice(&0_u16.to_be_bytes());
    assert_eq!(
        parse_ip_as(&p, UNCHECKED),
        Err(WireError::Truncated { what: "TCP header", needed: 20, got: 0 })
    );
    let (src, dst) = v4(1, 2);
    let mut p = Vec::new();
    emit_udp(src, dst, b"abc", Ecn::NotEct, &mut p).unwrap();
    p[24..26].copy_from_slice(&7_u16.to_be_bytes());
    assert_eq!(parse_ip_as(&p, UNCHECKED), Err(WireError::LengthField { what: "UDP", len: 7, least: 8 }));
    p[24..26].copy_from_slice(&12_u16.to_be_bytes());
    assert_eq!(
        parse_ip_as(&p, UNCHECKED),
        Err(WireError::Truncated { what: "UDP datagram", needed: 12, got: 11 })
    );
}

#[test]
fn short_headers_and_strange_versions_are_refused() {
    let mut p = packet(v4(1, 2), b"");
    p[0] = 0x44;
    assert_eq!(parse_ip_as(&p, UNCHECKED), Err(WireError::HeaderLength { what: "IPv4", len: 16 }));
    p[0] = 0x55;
    assert_eq!(parse_ip(&p), Err(WireError::Version(5)));
    let mut p = packet(v4(1, 2), b"");
    p[32] = 0x40;
    assert_eq!(parse_ip_as(&p, UNCHECKED), Err(WireError::HeaderLength { what: "TCP", len: 16 }));
    p[32] = 0xf0;
    assert_eq!(
        parse_ip_as(&p, UNCHECKED),
        Err(WireError::Truncated { what: "TCP header", needed: 60, got: 32 })
    );
}

#[test]
fn fragments_are_refused_and_atomic_ones_accepted() {
    for flags in [0x20_00_u16, 0x00_01, 0x3f_ff] {
        let mut p = packet(v4(1, 2), b"payload");
        p[6..8].copy_from_slice(&flags.to_be_bytes());
        assert_eq!(parse_ip_as(&p, UNCHECKED), Err(WireError::Fragment), "{flags:#x}");
    }
    for (field, fragment) in [(0_u16, false), (1, true), (8, true)] {
        let p = with_extension(44, &[6, 0, (field >> 8) as u8, field as u8, 1, 2, 3, 4]);
        match parse_ip(&p) {
            Err(e) => assert!(fragment && e == WireError::Fragment, "{e}"),
            Ok(packet) => assert!(!fragment && matches!(packet.transport, Transport::Tcp(_))),
        }
    }
}

/// An IPv6 packet with one extension header of kind `kind` in front of its TCP header.
fn with_extension(kind: u8, extension: &[u8]) -> Vec<u8> {
    let plain = packet(v6(), b"payload");
    let mut p = plain[..40].to_vec();
    p[6] = kind;
    let len = (plain.len() - 40 + extension.len()) as u16;
    p[4..6].copy_from_slice(&len.to_be_bytes());
    p.extend_from_slice(extension);
    p.extend_from_slice(&plain[40..]);
    p
}

#[test]
fn extension_headers_are_skipped_up_to_a_limit() {
    let options = |next: u8| [next, 0, 1, 4, 0, 0, 0, 0];
    assert!(matches!(parse_ip(&with_extension(0, &options(6))).unwrap().transport, Transport::Tcp(_)));
    let many = |n: usize| (0..n).flat_map(|i| options(if i + 1 == n { 6 } else { 60 })).collect::<Vec<u8>>();
    assert!(parse_ip(&with_extension(60, &many(8))).is_ok());
    assert_eq!(parse_ip(&with_extension(60, &many(9))), Err(WireError::ExtensionHeaders));
    assert!(matches!(
        parse_ip(&with_extension(0, &[6, 255, 0, 0, 0, 0, 0, 0])),
        Err(WireError::Truncated { .. })
    ));
}

#[test]
fn impossible_option_lengths_are_refused() {
    let wrong: &[(&[u8], u8, u8)] = &[
        (&[2], 2, 0),
        (&[8, 0, 0, 0], 8, 0),
        (&[254, 1, 0, 0], 254, 1),
        (&[1, 1, 2, 5, 0], 2, 5),
        (&[2, 3, 5], 2, 3),
        (&[3, 2, 7, 0], 3, 2),
        (&[4, 3, 0, 0], 4, 3),
        (&[8, 9, 0, 0, 0, 0, 0, 0, 0], 8, 9),
        (&[5, 2, 0, 0], 5, 2),
        (&[5, 9, 0, 0, 0, 0, 0, 0, 0], 5, 9),
        (&[5, 42, 0, 0], 5, 42),
    ];
    for &(bytes, kind, len) in wrong {
        assert_eq!(parse_options(bytes), Err(WireError::TcpOption { kind, len }), "{bytes:?}");
    }
    // Unknown kinds are skipped, and everything after the end of the list is ignored.
    assert_eq!(parse_options(&[254, 4, 9, 9, 2, 4, 5, 0xb4]).unwrap().mss, Some(1460));
    assert_eq!(parse_options(&[0, 2, 4, 5, 0xb4]).unwrap().mss, None);
}

#[test]
fn a_fifth_sack_block_is_left_out() {
    let block = |n: u32| [n, n + 1].into_iter().flat_map(u32::to_be_bytes);
    // No header holds five blocks, but the parser takes any slice.
    let five: Vec<u8> = [5, 42].into_iter().chain((1..=5).flat_map(|n| block(10 * n))).collect();
    assert_eq!(parse_options(&five).unwrap().sack.len(), 4);
    let two_options: Vec<u8> = [5, 26]
        .into_iter()
        .chain((1..=3).flat_map(block))
        .chain([5, 18])
        .chain((4..=5).flat_map(block))
        .collect();
    assert_eq!(parse_options(&two_options).unwrap().sack.len(), 4);
}

#[test]
fn packets_that_cannot_be_written_are_refused_and_leave_the_buffer_unchanged() {
    let (src, dst) = v4(1, 2);
    let mut out = vec![7];
    let mut sack = SackBlocks::NONE;
    (0..4).for_each(|_| sack.push(Default::default()));
    let options = Options { sack, timestamps: Some(Timestamps::default()), ..Options::default() };
    let full = Segment { options, ..Segment::default() };
    assert_eq!(emit_tcp(src, dst, &full, b"", Ecn::NotEct, &mut out), Err(WireError::OptionsTooLong(48)));
    let long = Segment { len: 65_496, ..Segment::default() };
    assert_eq!(
        emit_tcp_header(src, dst, &long, Ecn::NotEct, &mut out),
        Err(WireError::PacketTooLong(65_536))
    );
    assert_eq!(
        emit_tcp_header(src, dst, &Segment { len: u32::MAX, ..long }, Ecn::NotEct, &mut out),
        Err(WireError::PacketTooLong(4_294_967_335))
    );
    assert_eq!(
        emit_udp_header(src, dst, usize::MAX, Ecn::NotEct, &mut out),
        Err(WireError::PacketTooLong(usize::MAX))
    );
    assert_eq!(
        emit_tcp(src, v6().1, &Segment::default(), b"", Ecn::NotEct, &mut out),
        Err(WireError::MixedFamilies)
    );
    let wrong = WireError::PayloadLength { segment: 0, payload: 1 };
    assert_eq!(emit_tcp(src, dst, &Segment::default(), b"x", Ecn::NotEct, &mut out), Err(wrong));
    assert_eq!(out, [7]);
    assert!(emit_tcp_header(src, dst, &Segment { len: 65_495, ..long }, Ecn::NotEct, &mut out).is_ok());
}

#[test]
fn an_udp_checksum_of_zero_means_none_over_ipv4_only() {
    for (ends, taken) in [(v4(1, 2), true), (v6(), false)] {
        let mut p = Vec::new();
        emit_udp(ends.0, ends.1, b"abc", Ecn::Ce, &mut p).unwrap();
        let at = p.len() - 3 - 2;
        p[at..at + 2].copy_from_slice(&[0, 0]);
        assert_eq!(parse_ip(&p).is_ok(), taken);
    }
}

proptest! {
    #[test]
    fn segments_come_back_as_written(
        segment in generate::segment(1500), (src, dst) in generate::endpoints(), ecn in generate::ecn(), byte in any::<u8>()
    ) {
        let payload: Vec<u8> = (0..segment.len).map(|i| byte.wrapping_add(i as u8)).collect();
        let mut out = Vec::new();
        emit_tcp(src, dst, &segment, &payload, ecn, &mut out).unwrap();
        prop_assert_eq!(out.len() as u32, tcp_packet_len(&segment, src.is_ipv6()));
        let packet = parse_ip(&out).unwrap();
        prop_assert_eq!((packet.endpoints(), packet.ecn, packet.total_len), ((src, dst), ecn, out.len()));
        let Transport::Tcp(tcp) = packet.transport else { panic!("not TCP") };
        prop_assert_eq!(tcp.segment, segment);
        prop_assert_eq!(tcp.payload, &payload[..]);
    }

    #[test]
    fn headers_alone_are_those_of_a_packet_of_zeros(segment in generate::segment(1500), (src, dst) in generate::endpoints(), ecn in generate::ecn()) {
        let (mut whole, mut header) = (Vec::new(), Vec::new());
        emit_tcp_with(src, dst, &segment, ecn, &mut whole, |_| ()).unwrap();
        emit_tcp_header(src, dst, &segment, ecn, &mut header).unwrap();
        prop_assert_eq!(&whole[..header.len()], &header[..]);
        prop_assert_eq!(whole.len(), header.len() + segment.len as usize);
        let Transport::Tcp(tcp) = parse_ip_as(&header, Strictness::CAPTURE).unwrap().transport else { panic!("not TCP") };
        prop_assert_eq!((tcp.segment, tcp.payload), (segment, &b""[..]));
    }

    #[test]
    fn options_take_the_bytes_that_were_counted(options in generate::options()) {
        let mut out = [0xee; MAX_OPTIONS_LEN];
        let n = emit_options(&options, &mut out).unwrap();
        prop_assert_eq!(n as u32, options.wire_len());
        prop_assert_eq!(parse_options(&out[..n]), Ok(options));
        prop_assert!(out[n..].iter().all(|b| *b == 0xee));
    }

    #[test]
    fn datagrams_come_back_as_written(payload in proptest::collection::vec(any::<u8>(), 0..200), (src, dst) in generate::endpoints()) {
        let mut out = Vec::new();
        emit_udp(src, dst, &payload, Ecn::Ect0, &mut out).unwrap();
        let packet = parse_ip(&out).unwrap();
        prop_assert_eq!(packet.endpoints(), (src, dst));
        let Transport::Udp(udp) = packet.transport else { panic!("not UDP") };
        prop_assert_eq!(udp.payload, &payload[..]);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120), version in any::<bool>()) {
        let mut bytes = bytes;
        let _ = parse_options(&bytes);
        for strict in [Strictness::FULL, Strictness::OFFLOAD, Strictness::CAPTURE] {
            let _ = parse_ip_as(&bytes, strict);
        }
        // Again with a valid start, to pass the first checks.
        if bytes.len() > 10 {
            (bytes[0], bytes[if version { 9 } else { 6 }]) = if version { (0x45, 6) } else { (0x60, 6) };
            for strict in [Strictness::FULL, Strictness::OFFLOAD, Strictness::CAPTURE] {
                let _ = parse_ip_as(&bytes, strict);
            }
        }
    }

    #[test]
    fn a_mutated_packet_never_panics(segment in generate::segment(64), ends in generate::endpoints(), edits in proptest::collection::vec(any::<(u16, u8)>(), 1..8)) {
        let mut p = Vec::new();
        emit_tcp_with(ends.0, ends.1, &segment, Ecn::NotEct, &mut p, |_| ()).unwrap();
        for (at, byte) in edits {
            let at = usize::from(at) % p.len();
            p[at] = byte;
        }
        for strict in [Strictness::FULL, Strictness::OFFLOAD, Strictness::CAPTURE] {
            let _ = parse_ip_as(&p, strict);
        }
    }
}
