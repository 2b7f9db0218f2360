//! Packets that a Linux 6 kernel sent over a virtual link with offload turned off, so that the kernel
//! computed the checksums.

use std::net::SocketAddr;

use ackclock_units::{Ecn, SeqNumber};
use ackclock_wire::{
    Flags, Options, SackBlocks, Segment, Timestamps, Transport, UdpView, WireError, emit_tcp, emit_udp,
    parse_ip,
};

const SYN: &str = "4500003c8d3d40004006996a0a0900010a090002cc121b58d86c7a7000000000a002faf0756d0000020405b40402080ad7e2b15f000000000103030a";
const SYN_ACK: &str = "4500003c00004000400626a80a0900020a0900011b58cc1252440b63d86c7a71a012fe889feb0000020405b40402080ac597ae99d7e2b15f0103030a";
const SYN_V6: &str = "600ce8cc00280640fd090000000000000000000000000001fd090000000000000000000000000002bdd81b59c3a3b84300000000a002fd2098ff0000020405a00402080ac070a250000000000103030a";
const FIN_V6: &str = "6004e01800200640fd090000000000000000000000000002fd0900000000000000000000000000011b59bdd805cbc104c3a4a2a58011004a3cab00000101080adb04fb97c070a257";
const UDP: &str = "45000026ee3840004011387a0a0900010a090002809400090012a23468656c6c6f2c20756470";

fn bytes(hex: &str) -> Vec<u8> {
    let hex: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    hex.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn segment(seq: u32, ack: u32, window: u16, flags: Flags, options: Options) -> Segment {
    Segment { seq: SeqNumber(seq), ack: SeqNumber(ack), len: 0, window, flags, urgent: 0, options }
}

fn opening(mss: u16, tsval: u32, tsecr: u32) -> Options {
    let timestamps = Some(Timestamps { tsval, tsecr });
    Options {
        mss: Some(mss),
        window_scale: Some(10),
        sack_permitted: true,
        timestamps,
        sack: SackBlocks::NONE,
        accecn: None,
    }
}

fn expected() -> [(&'static str, &'static str, &'static str, Segment); 4] {
    let timestamps = Some(Timestamps { tsval: 3_674_536_855, tsecr: 3_228_607_063 });
    let fin = segment(
        97_239_300,
        3_282_346_661,
        74,
        Flags::FIN | Flags::ACK,
        Options { timestamps, ..Options::default() },
    );
    [
        (
            SYN,
            "10.9.0.1:52242",
            "10.9.0.2:7000",
            segment(3_630_987_888, 0, 64_240, Flags::SYN, opening(1460, 3_621_957_983, 0)),
        ),
        (
            SYN_ACK,
            "10.9.0.2:7000",
            "10.9.0.1:52242",
            segment(
                1_380_191_075,
                3_630_987_889,
                65_160,
                Flags::SYN | Flags::ACK,
                opening(1460, 3_315_052_185, 3_621_957_983),
            ),
        ),
        (
            SYN_V6,
            "[fd09::1]:48600",
            "[fd09::2]:7001",
            segment(3_282_286_659, 0, 64_800, Flags::SYN, opening(1440, 3_228_607_056, 0)),
        ),
        (FIN_V6, "[fd09::2]:7001", "[fd09::1]:48600", fin),
    ]
}

#[test]
fn tcp_packets_are_read() {
    for (hex, src, dst, segment) in expected() {
        let bytes = bytes(hex);
        let packet = parse_ip(&bytes).unwrap();
        assert_eq!(packet.endpoints(), (src.parse::<SocketAddr>().unwrap(), dst.parse().unwrap()));
        assert_eq!((packet.total_len, packet.hops, packet.ecn), (bytes.len(), 64, Ecn::NotEct));
        let Transport::Tcp(tcp) = packet.transport else { panic!("{packet:?}") };
        assert_eq!(tcp.segment, segment);
        assert_eq!(tcp.payload, b"");
    }
}

#[test]
fn tcp_packets_are_written_with_the_kernels_layout_and_checksum() {
    for (hex, src, dst, segment) in expected() {
        let (kernel, mut ours) = (bytes(hex), Vec::new());
        emit_tcp(src.parse().unwrap(), dst.parse().unwrap(), &segment, b"", Ecn::NotEct, &mut ours).unwrap();
        let ip = if kernel[0] >> 4 == 4 { 20 } else { 40 };
        assert_eq!(ours[ip..], kernel[ip..], "TCP header, options and checksum byte for byte");
    }
}

#[test]
fn udp_is_read_and_written() {
    let kernel = bytes(UDP);
    let packet = parse_ip(&kernel).unwrap();
    assert_eq!(
        packet.transport,
        Transport::Udp(UdpView { src_port: 32_916, dst_port: 9, len: 10, payload: b"hello, udp" })
    );
    let mut ours = Vec::new();
    let (src, dst) = packet.endpoints();
    emit_udp(src, dst, b"hello, udp", Ecn::NotEct, &mut ours).unwrap();
    assert_eq!(ours[20..], kernel[20..]);
}

#[test]
fn every_flipped_bit_is_noticed() {
    for (hex, ..) in expected() {
        let good = bytes(hex);
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            // The IPv6 header has no checksum: changes of traffic class, flow label and hop limit are not
            // detected.
            let unprotected = good[0] >> 4 == 6 && matches!(bit / 8, 0..=3 | 7);
            // With another IP version or next header it is no TCP segment and has no TCP checksum.
            let tcp =
                |bytes| parse_ip(bytes).is_ok_and(|packet| matches!(packet.transport, Transport::Tcp(_)));
            assert!(tcp(&good) && (unprotected || !tcp(&bad)), "bit {bit} of {hex}");
        }
    }
    let mut bad = bytes(SYN);
    bad[25] ^= 1;
    assert_eq!(parse_ip(&bad), Err(WireError::Checksum { what: "TCP" }));
}
