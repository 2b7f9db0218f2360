//! Exchanges hand-made packets with a [`Host`].

use std::net::SocketAddr;
use std::time::{Duration as Time, Instant as Now};

use ackclock_drive::{Clock, Host, HostLimits, HostOptions, Port};
use ackclock_units::{Ecn, SeqNumber};
use ackclock_wire::{Flags, IpPacket, Segment, Transport, emit_tcp, parse_ip};

use super::{Setup, policies};

/// Address of the [`Host`].
pub const HOST: &str = "10.0.0.1:80";
/// Address of the peer with hand-made packets.
pub const PEER: &str = "10.0.0.2:1000";

pub fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A packet to the host.
pub fn packet(from: SocketAddr, segment: &Segment, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    emit_tcp(
        from,
        at(HOST),
        &Segment { len: payload.len() as u32, ..*segment },
        payload,
        Ecn::NotEct,
        &mut out,
    )
    .unwrap();
    out
}

/// Sends a packet to the host; reads the host's packets when the queue is full.
pub fn inject(wire: &Port, bytes: &[u8]) {
    let mut buffer = [0; 2000];
    for _ in 0..100_000 {
        if wire.send(bytes).is_ok() {
            return;
        }
        while wire.recv(&mut buffer).is_ok() {}
        std::thread::sleep(Time::from_micros(100));
    }
    panic!("the host reads no packets any more");
}

/// The next segment from the host that `wanted` accepts.
pub fn expect_segment(wire: &Port, wanted: impl Fn(SocketAddr, &Segment) -> bool) -> Segment {
    let mut buffer = [0; 2000];
    for _ in 0..10_000 {
        while let Ok(n) = wire.recv(&mut buffer) {
            let ip @ IpPacket { transport: Transport::Tcp(tcp), .. } = parse_ip(&buffer[..n]).unwrap() else {
                panic!("not TCP")
            };
            if wanted(ip.endpoints().1, &tcp.segment) {
                return tcp.segment;
            }
        }
        std::thread::sleep(Time::from_millis(1));
    }
    panic!("no such segment in 10 s");
}

/// Opens a connection by hand; returns the next segment to send.
pub fn open(wire: &Port, from: SocketAddr) -> Segment {
    inject(
        wire,
        &packet(
            from,
            &Segment { seq: SeqNumber(99), window: 60_000, flags: Flags::SYN, ..Segment::default() },
            &[],
        ),
    );
    let reply = expect_segment(wire, |to, s| to == from && s.flags.has(Flags::SYN | Flags::ACK));
    assert_eq!(reply.ack, SeqNumber(100));
    let next = Segment {
        seq: SeqNumber(100),
        ack: reply.seq + 1,
        window: 60_000,
        flags: Flags::ACK,
        ..Segment::default()
    };
    inject(wire, &packet(from, &next, &[]));
    next
}

/// Default options of a host at [`HOST`].
pub fn options() -> HostOptions {
    HostOptions {
        addresses: vec![at(HOST).ip()],
        mtu: 1500,
        config: Setup::default().config,
        policies: policies("sack", "cubic"),
        clock: Clock::start(),
        limits: HostLimits::default(),
    }
}

/// A running host with changed options, and the other end of its wire.
pub fn started(change: impl FnOnce(&mut HostOptions)) -> (Host, Port) {
    let (wire, port) = Port::pair().unwrap();
    let mut options = options();
    change(&mut options);
    (Host::start(port, options).unwrap(), wire)
}

/// A SYN without options.
pub fn syn() -> Segment {
    Segment { seq: SeqNumber(99), window: 60_000, flags: Flags::SYN, ..Segment::default() }
}

/// The same port of other hosts.
pub fn enemy(i: u32) -> SocketAddr {
    SocketAddr::new([10, 66, (i >> 8) as u8, i as u8].into(), 1000)
}

/// Waits until the host has received `n` packets.
pub fn taken(host: &Host, packets: u64) {
    while host.counters().packets_received < packets {
        std::thread::sleep(Time::from_millis(1));
    }
}

/// Waits until `done`.
pub fn eventually(seconds: u64, what: &str, mut done: impl FnMut() -> bool) {
    let start = Now::now();
    while !done() {
        assert!(start.elapsed() < Time::from_secs(seconds), "not in {seconds} s: {what}");
        std::thread::sleep(Time::from_millis(10));
    }
}
