//! Parsing packets, and writing them into a buffer with room, allocates nothing.

use std::net::SocketAddr;

use ackclock_units::{Ecn, SeqNumber};
use ackclock_wire::{Options, Segment, Timestamps, emit_tcp, emit_tcp_header, emit_udp, parse_ip};

#[test]
fn reading_and_writing_packets_allocates_nothing() {
    let payload = [7; 1448];
    let options = Options { timestamps: Some(Timestamps { tsval: 1, tsecr: 2 }), ..Options::default() };
    let segment = Segment { seq: SeqNumber(1), len: payload.len() as u32, options, ..Segment::default() };
    let pairs = [("10.0.0.1:1", "10.0.0.2:2"), ("[fd00::1]:1", "[fd00::2]:2")]
        .map(|(a, b)| (a.parse::<SocketAddr>().unwrap(), b.parse::<SocketAddr>().unwrap()));
    let mut out = Vec::with_capacity(2048);
    let done = allocation_counter::measure(|| {
        for (src, dst) in pairs {
            for _ in 0..100 {
                out.clear();
                emit_tcp(src, dst, &segment, &payload, Ecn::Ect0, &mut out).unwrap();
                assert!(parse_ip(&out).is_ok());
                out.clear();
                emit_tcp_header(src, dst, &segment, Ecn::Ect0, &mut out).unwrap();
                out.clear();
                emit_udp(src, dst, &payload, Ecn::NotEct, &mut out).unwrap();
                assert!(parse_ip(&out).is_ok());
            }
        }
    });
    assert_eq!(done.count_total, 0);
}
