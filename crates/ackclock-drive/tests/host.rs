//! The host without a kernel: against another host, and against invalid packets. Needs no rights.
#![cfg(target_os = "linux")]

mod common;

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration as Time;

use ackclock_drive::{Clock, Host, HostLimits, HostOptions, Port};
use ackclock_engine::{Config, State};
use ackclock_units::{Duration, Ecn, Rng, SeqNumber};
use ackclock_wire::{Flags, Segment, Timestamps, emit_tcp};
use common::wire::{HOST, PEER, at, expect_segment, inject, open, packet, started, syn, taken};
use common::{Setup, expect_pattern, policies, send_pattern};

fn host(port: Port, address: &str) -> Host {
    host_with(port, address, Setup::default().config)
}

fn host_with(port: Port, address: &str, config: Config) -> Host {
    let options = HostOptions {
        addresses: vec![address.parse().unwrap()],
        mtu: 1500,
        config,
        policies: policies("sack", "cubic"),
        clock: Clock::start(),
        limits: HostLimits::default(),
    };
    Host::start(port, options).unwrap()
}

#[test]
fn invalid_source_addresses_get_no_response() {
    // RFC 9293 §3.9.2.3.
    let (ours, wire) = Port::pair().unwrap();
    let host = host(ours, "10.0.0.1");
    let _listener = host.listen(80, 5).unwrap();
    let invalid = ["224.0.0.1:1000", "255.255.255.255:1000", "0.0.0.0:1000"];
    for from in invalid {
        for flags in [Flags::SYN, Flags::ACK] {
            inject(
                &wire,
                &packet(
                    at(from),
                    &Segment { seq: SeqNumber(99), window: 60_000, flags, ..Segment::default() },
                    &[],
                ),
            );
        }
    }
    open(&wire, at(PEER));
    let counters = host.counters();
    assert_eq!(
        (counters.ignored, counters.packets_sent, counters.resets_sent),
        (2 * invalid.len() as u64, 1, 0)
    );
}

#[test]
fn a_listening_port_drops_what_neither_opens_nor_acknowledges() {
    // RFC 9293 §3.10.7.2: a segment without ACK and SYN is dropped; an ACK gets a reset. At a closed port,
    // all of them get a reset (§3.10.7.1).
    let (ours, wire) = Port::pair().unwrap();
    let host = host(ours, "10.0.0.1");
    let listener = host.listen(80, 5).unwrap();
    let stray = |flags| Segment { seq: SeqNumber(99), window: 60_000, flags, ..Segment::default() };
    for flags in [Flags::FIN, Flags::PSH, Flags::default()] {
        inject(&wire, &packet(at(PEER), &stray(flags), b"text"));
    }
    inject(&wire, &packet(at(PEER), &stray(Flags::FIN | Flags::ACK), &[]));
    assert!(expect_segment(&wire, |_, _| true).flags.has(Flags::RST));
    assert_eq!((host.counters().resets_sent, host.counters().packets_sent), (1, 1));
    drop(listener);
    inject(&wire, &packet(at(PEER), &stray(Flags::FIN), &[]));
    assert!(expect_segment(&wire, |_, _| true).flags.has(Flags::RST | Flags::ACK));
}

#[test]
fn data_that_no_program_will_read_is_reset_and_not_acknowledged() {
    // RFC 2525 §2.17, RFC 9293 §3.10.4.
    let (ours, wire) = Port::pair().unwrap();
    let host = host(ours, "10.0.0.1");
    let listener = host.listen(80, 5).unwrap();
    for (port, fin) in [(1001, Flags::default()), (1002, Flags::FIN)] {
        let from = SocketAddr::new(at(PEER).ip(), port);
        let next = open(&wire, from);
        drop(listener.accept().unwrap());
        let closed = expect_segment(&wire, |to, s| to == from && s.flags.has(Flags::FIN));
        inject(
            &wire,
            &packet(from, &Segment { ack: closed.seq + 1, flags: Flags::ACK | fin, ..next }, b"too late"),
        );
        let first = expect_segment(&wire, |to, _| to == from);
        assert!(first.flags.has(Flags::RST), "{first:?}");
    }
    assert_eq!(host.connections(), 0);
}

#[test]
fn two_hosts_exchange_data() {
    let (a, b) = Port::pair().unwrap();
    let (a, b) = (host(a, "10.0.0.1"), host(b, "10.0.0.2"));
    let listener = a.listen(80, 5).unwrap();
    let bytes = 5_000_000;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let stream = listener.accept().unwrap();
            expect_pattern(&stream, bytes);
            send_pattern(&stream, bytes);
            stream.close(Some(Time::from_secs(10))).unwrap();
        });
        let stream = b.connect(at(HOST)).unwrap();
        send_pattern(&stream, bytes);
        stream.shutdown_write();
        expect_pattern(&stream, bytes);
    });
    assert_eq!(
        b.connect(at("10.0.0.1:81")).err().map(|e| e.kind()),
        Some(std::io::ErrorKind::ConnectionRefused)
    );
    assert_eq!(b.connect(at("[::1]:81")).err().map(|e| e.kind()), Some(std::io::ErrorKind::AddrNotAvailable));
}

#[test]
fn a_peer_that_announces_no_segment_size_gets_the_one_of_its_ip_version() {
    // RFC 9293 §3.7.1.
    for (address, stranger, size) in [("10.0.0.1", "10.0.0.2:1000", 536), ("fd00::1", "[fd00::2]:1000", 1220)]
    {
        let (wire, port) = Port::pair().unwrap();
        let host = host(port, address);
        let listener = host.listen(80, 1).unwrap();
        let (from, to) = (at(stranger), SocketAddr::new(address.parse().unwrap(), 80));
        let say = |s: &Segment| {
            let mut out = Vec::new();
            emit_tcp(from, to, s, &[], Ecn::NotEct, &mut out).unwrap();
            inject(&wire, &out);
        };
        let syn = Segment { seq: SeqNumber(99), window: 60_000, flags: Flags::SYN, ..Segment::default() };
        say(&syn);
        let reply = expect_segment(&wire, |_, s| s.flags.has(Flags::SYN | Flags::ACK));
        say(&Segment { seq: SeqNumber(100), ack: reply.seq + 1, flags: Flags::ACK, ..syn });
        let stream = listener.accept().unwrap();
        (&stream).write_all(&[7; 3000]).unwrap();
        assert_eq!(expect_segment(&wire, |_, s| s.len > 0).len, size);
    }
}

#[test]
fn a_flood_of_syns_fills_the_backlog_and_nothing_else() {
    for syn_cookies in [false, true] {
        let (host, wire) = started(|o| o.limits.syn_cookies = syn_cookies);
        let _listener = host.listen(80, 20).unwrap();
        let n = 20_000;
        for i in 0..n {
            let from = SocketAddr::new([10, 1, (i >> 8) as u8, i as u8].into(), 1000);
            inject(&wire, &packet(from, &syn(), &[]));
        }
        taken(&host, n);
        let c = host.counters();
        let (dropped, answered) = if syn_cookies { (0, n - 20) } else { (n - 20, 0) };
        assert_eq!((host.connections(), c.backlog_drops, c.cookies_sent), (20, dropped, answered));
    }
}

#[test]
fn a_connection_survives_random_packets() {
    let (wire, port) = Port::pair().unwrap();
    let host = host(port, "10.0.0.1");
    let listener = host.listen(80, 50).unwrap();
    let next = open(&wire, at(PEER));
    let stream = listener.accept().unwrap();
    let mut rng = Rng::stream(5, "noise", 0);
    for i in 0..50_000_u32 {
        let bytes = match rng.below(4) {
            // Random bytes.
            0 => (0..rng.below(100)).map(|_| rng.next_u64() as u8).collect(),
            // A segment for the open connection outside its window, with random flags and options.
            1 => {
                let timestamps =
                    rng.chance(0.5).then(|| Timestamps { tsval: rng.next_u64() as u32, tsecr: 0 });
                let options = ackclock_wire::Options { timestamps, ..Default::default() };
                let seq = next.seq + (1 << 30) + rng.below(1 << 30) as u32;
                let s = Segment {
                    seq,
                    ack: next.ack + (1 << 30),
                    flags: Flags(rng.next_u64() as u16 & Flags::ALL.0),
                    window: rng.next_u64() as u16,
                    options,
                    ..next
                };
                packet(at(PEER), &s, &vec![0; rng.below(1400) as usize])
            }
            // A random segment from anywhere, to an open or closed port.
            2 => {
                let from = SocketAddr::new([10, 2, 0, rng.next_u64() as u8].into(), rng.next_u64() as u16);
                let (seq, ack) = (SeqNumber(rng.next_u64() as u32), SeqNumber(rng.next_u64() as u32));
                let s = Segment {
                    seq,
                    ack,
                    flags: Flags(rng.next_u64() as u16 & Flags::ALL.0),
                    window: rng.next_u64() as u16,
                    ..Segment::default()
                };
                packet(from, &s, &[0; 10])
            }
            // A valid packet with one byte changed.
            _ => {
                let mut bytes =
                    packet(at(PEER), &Segment { flags: Flags::ACK | Flags::RST, ..next }, b"never seen");
                let place = rng.below(bytes.len() as u64) as usize;
                bytes[place] ^= 1 << rng.below(8);
                bytes
            }
        };
        if !bytes.is_empty() {
            inject(&wire, &bytes);
        }
        if i % 1000 == 0 {
            assert!(host.connections() <= 51, "{}", host.connections());
        }
    }
    // The connection is intact, and no random packet was accepted as its data.
    assert_eq!(stream.state(), State::Established);
    inject(&wire, &packet(at(PEER), &Segment { flags: Flags::ACK | Flags::PSH, ..next }, b"signal"));
    let mut got = [0; 100];
    let n = std::io::Read::read(&mut &stream, &mut got).unwrap();
    assert_eq!(&got[..n], b"signal");
}

#[test]
fn a_new_syn_is_accepted_in_time_wait() {
    let (wire, port) = Port::pair().unwrap();
    let host = host_with(
        port,
        "10.0.0.1",
        Config { time_wait: Duration::from_secs(100), ..Setup::default().config },
    );
    let listener = host.listen(80, 5).unwrap();
    let next = open(&wire, at(PEER));
    for held in [false, true] {
        let stream = listener.accept().unwrap();
        stream.shutdown_write();
        let fin = expect_segment(&wire, |_, s| s.flags.has(Flags::FIN));
        let last = Segment { ack: fin.end(), flags: Flags::ACK | Flags::FIN, ..next };
        // The same ports in both rounds: the second opening uses sequence numbers after those of the first.
        let last = if held { Segment { seq: SeqNumber(100_001), ..last } } else { last };
        inject(&wire, &packet(at(PEER), &last, &[]));
        assert_eq!(std::io::Read::read(&mut &stream, &mut [0]).unwrap(), 0);
        assert_eq!(stream.state(), State::TimeWait);
        let kept = held.then_some(stream);
        let syn = Segment { seq: last.seq + 99_900, window: 60_000, flags: Flags::SYN, ..Segment::default() };
        inject(&wire, &packet(at(PEER), &syn, &[]));
        let reply = expect_segment(&wire, |_, s| s.flags.has(Flags::SYN | Flags::ACK));
        assert_eq!(reply.ack, syn.seq + 1);
        inject(
            &wire,
            &packet(
                at(PEER),
                &Segment { seq: syn.seq + 1, ack: reply.seq + 1, flags: Flags::ACK, ..syn },
                &[],
            ),
        );
        assert_eq!(host.connections(), 1);
        drop(kept);
        assert_eq!(host.connections(), 1);
    }
    assert_eq!(listener.accept().unwrap().state(), State::Established);
}

#[test]
fn wrong_options_are_an_error_of_one_sentence() {
    let start = |addresses, mtu| {
        let (_, port) = Port::pair().unwrap();
        let options = HostOptions {
            addresses,
            mtu,
            config: Setup::default().config,
            policies: policies("sack", "reno"),
            clock: Clock::start(),
            limits: HostLimits::default(),
        };
        Host::start(port, options).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert!(start(vec![], 1500).contains("at least one address"));
    assert!(
        start(vec![[10, 0, 0, 1].into()], 100).contains("100"),
        "{}",
        start(vec![[10, 0, 0, 1].into()], 100)
    );
}
