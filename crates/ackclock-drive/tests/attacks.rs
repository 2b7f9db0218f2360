//! Attacks on the host: its resources stay bounded and honest peers are still served. Needs no rights.
#![cfg(target_os = "linux")]

mod common;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant as Now;

use ackclock_engine::Config;
use ackclock_testkit::icmp_packet;
use ackclock_units::{Duration, Ecn, SeqNumber};
use ackclock_wire::{Flags, Options, Segment, Timestamps, emit_tcp, parse_ip};
use common::wire::{
    HOST, PEER, at, enemy, eventually, expect_segment, inject, open, packet, started, syn, taken,
};

#[test]
fn an_honest_client_connects_during_a_flood_of_syns() {
    let (host, wire) = started(|_| ());
    let listener = host.listen(80, 16).unwrap();
    for i in 0..5000 {
        inject(&wire, &packet(enemy(i), &syn(), &[]));
    }
    let next = open(&wire, at(PEER));
    inject(&wire, &packet(at(PEER), &Segment { flags: Flags::ACK | Flags::PSH, ..next }, b"honest"));
    let stream = listener.accept().unwrap();
    assert_eq!(stream.peer_addr(), at(PEER));
    let mut got = [0; 6];
    (&stream).read_exact(&mut got).unwrap();
    assert_eq!(&got, b"honest");
}

#[test]
fn options_of_a_syn_survive_a_cookie() {
    for timestamps in [false, true] {
        let (host, wire) = started(|o| o.config = Config { timestamps, ..o.config.clone() });
        let listener = host.listen(80, 1).unwrap();
        inject(&wire, &packet(enemy(1), &syn(), &[]));
        for (i, window_scale, sack) in [(1, Some(3), true), (2, Some(0), false), (3, None, true)] {
            let from = SocketAddr::new(at(PEER).ip(), i);
            let offered = timestamps.then_some(Timestamps { tsval: 5000, tsecr: 0 });
            let options = Options {
                mss: Some(1400),
                window_scale,
                sack_permitted: sack,
                timestamps: offered,
                ..Options::default()
            };
            inject(&wire, &packet(from, &Segment { options, ..syn() }, &[]));
            let reply = expect_segment(&wire, |to, s| to == from && s.flags.has(Flags::SYN | Flags::ACK));
            assert_eq!(
                (reply.options.window_scale.is_some(), reply.options.sack_permitted),
                (window_scale.is_some(), sack)
            );
            let echo = reply.options.timestamps.map(|ts| Timestamps { tsval: 5001, tsecr: ts.tsval });
            let options = Options { timestamps: echo, ..Options::default() };
            let next = Segment {
                seq: SeqNumber(100),
                ack: reply.seq + 1,
                window: 1000,
                flags: Flags::ACK,
                options,
                ..Segment::default()
            };
            // Forged cookies get a reset and open no connection.
            for wrong in [Segment { ack: next.ack + 1, ..next }, Segment { seq: next.seq + 1, ..next }] {
                inject(&wire, &packet(from, &wrong, &[]));
                assert!(expect_segment(&wire, |to, _| to == from).flags.has(Flags::RST));
            }
            inject(&wire, &packet(from, &next, &[]));
            let stream = listener.accept().unwrap();
            let view = stream.view();
            let rwnd = 1000 << window_scale.unwrap_or(0);
            let options = if timestamps { 12 } else { 0 };
            assert_eq!(
                (view.smss, view.rwnd, view.sack, view.timestamps),
                (1300 - options, rwnd, sack, timestamps)
            );
            (&stream).write_all(b"answer").unwrap();
            let data = expect_segment(&wire, |to, s| to == from && s.len > 0);
            assert_eq!((data.seq, data.ack), (reply.seq + 1, SeqNumber(100)));
            // Timestamps continue from that of the SYN-ACK.
            let later = data
                .options
                .timestamps
                .zip(reply.options.timestamps)
                .map(|(a, b)| a.tsval.wrapping_sub(b.tsval));
            assert!(later.is_none_or(|ms| ms < 5000), "{later:?}");
        }
        assert_eq!((host.counters().cookies_sent, host.counters().cookies_taken), (3, 3));
    }
}

#[test]
fn unaccepted_connections_are_limited_to_the_backlog() {
    let (host, wire) = started(|_| ());
    let listener = host.listen(80, 4).unwrap();
    // All half open at once, then all acknowledged: the accept queue stays within the backlog.
    let mut replies = Vec::new();
    for i in 0..8 {
        inject(&wire, &packet(enemy(i), &syn(), &[]));
        replies.push(expect_segment(&wire, |to, s| to == enemy(i) && s.flags.has(Flags::SYN)));
    }
    for (i, reply) in (0..).zip(&replies) {
        let next = Segment {
            seq: SeqNumber(100),
            ack: reply.seq + 1,
            window: 60_000,
            flags: Flags::ACK,
            ..Segment::default()
        };
        inject(&wire, &packet(enemy(i), &next, &[]));
    }
    taken(&host, 16);
    let c = host.counters();
    assert_eq!((c.cookies_sent, c.cookies_taken, c.backlog_drops, host.connections()), (4, 0, 4, 4));
    for _ in 0..4 {
        listener.accept().unwrap();
    }
}

#[test]
fn half_open_connections_are_given_up() {
    let (host, wire) = started(|o| o.limits.synack_retries = 1);
    let _listener = host.listen(80, 4).unwrap();
    for i in 0..4 {
        inject(&wire, &packet(enemy(i), &syn(), &[]));
    }
    taken(&host, 4);
    assert_eq!(host.connections(), 4);
    // SYN-ACK retransmissions after one and two seconds.
    eventually(8, "they are given up", || host.connections() == 0);
}

#[test]
fn orphans_with_a_closed_window_are_limited_in_number_and_time() {
    let (host, wire) = started(|o| {
        o.limits.orphan_timeout = Duration::from_millis(700);
        o.limits.orphans = 5;
    });
    let listener = host.listen(80, 16).unwrap();
    for i in 0..10 {
        let next = open(&wire, enemy(i));
        let stream = listener.accept().unwrap();
        (&stream).write_all(&[1; 1000]).unwrap();
        let data = expect_segment(&wire, |to, s| to == enemy(i) && s.len > 0);
        (&stream).write_all(&[2; 200_000]).unwrap();
        drop(stream);
        // The window stays closed, and the peer responds to every probe.
        inject(&wire, &packet(enemy(i), &Segment { ack: data.end(), window: 0, ..next }, &[]));
    }
    taken(&host, 30);
    eventually(5, "the oldest ones were reset", || host.connections() == 5);
    assert_eq!(host.counters().orphans_ended, 5);
    eventually(10, "the others too, in time", || host.connections() == 0);
    assert_eq!(host.counters().orphans_ended, 10);
}

#[test]
fn the_memory_of_all_connections_is_bounded() {
    let (host, wire) = started(|o| o.limits.held_bytes = 1 << 20);
    let listener = host.listen(80, 500).unwrap();
    let mut streams = Vec::new();
    let mut ends = Vec::new();
    for i in 0..100 {
        let mut next = open(&wire, enemy(i));
        streams.push(listener.accept().unwrap());
        for _ in 0..40 {
            inject(&wire, &packet(enemy(i), &next, &[7; 1400]));
            next.seq += 1400;
        }
        ends.push(next);
    }
    taken(&host, 100 * 42);
    let got: u64 = streams.iter().map(|s| s.stats().bytes_received).sum();
    println!("{got} of {} bytes were taken", 100 * 40 * 1400);
    assert!(got < 3 << 20 && host.counters().memory_drops > 1000, "{got}");
    // Every connection still has a little, and continues once programs read.
    assert!(streams.iter().all(|s| s.stats().bytes_received >= 8 * 1400));
    for stream in &streams {
        let n = stream.stats().bytes_received;
        (&*stream).read_exact(&mut vec![0; n as usize]).unwrap();
    }
    let (last, n) = (99, streams[99].stats().bytes_received as u32);
    inject(&wire, &packet(enemy(last), &Segment { seq: SeqNumber(100) + n, ..ends[99] }, b"goes on"));
    streams[99].set_read_timeout(Some(std::time::Duration::from_secs(5)));
    (&streams[99]).read_exact(&mut [0; 7]).unwrap();
}

#[test]
fn a_peer_that_never_closes_holds_no_state() {
    // The timeout of Linux, which is short enough for a test.
    let (host, wire) = started(|o| {
        assert_eq!(o.limits.fin_timeout, Duration::from_secs(60));
        o.limits.fin_timeout = Duration::from_secs(2);
    });
    let listener = host.listen(80, 16).unwrap();
    for i in 0..10 {
        let next = open(&wire, enemy(i));
        drop(listener.accept().unwrap());
        let fin = expect_segment(&wire, |to, s| to == enemy(i) && s.flags.has(Flags::FIN));
        inject(&wire, &packet(enemy(i), &Segment { ack: fin.end(), ..next }, &[]));
    }
    eventually(70, "orphans in FIN-WAIT-2 are gone", || host.connections() == 0);
}

#[test]
fn a_few_bytes_out_of_order_do_not_pin_a_window() {
    let resident = || {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let (host, wire) = started(|_| ());
    let listener = host.listen(80, 500).unwrap();
    let (before, n) = (resident(), 300);
    let mut streams = Vec::new();
    for i in 0..n {
        let options = Options { window_scale: Some(7), sack_permitted: true, ..Options::default() };
        inject(&wire, &packet(enemy(i), &Segment { options, ..syn() }, &[]));
        let reply = expect_segment(&wire, |to, s| to == enemy(i) && s.flags.has(Flags::SYN | Flags::ACK));
        let next = Segment {
            seq: SeqNumber(100),
            ack: reply.seq + 1,
            window: 60_000,
            flags: Flags::ACK,
            ..Segment::default()
        };
        // The window is advertised in full after the first data.
        inject(&wire, &packet(enemy(i), &Segment { seq: SeqNumber(1000), ..next }, b"abc"));
        let wide = expect_segment(&wire, |to, s| to == enemy(i) && !s.options.sack.is_empty());
        let edge = u32::from(wide.window) << reply.options.window_scale.unwrap();
        assert!(edge > 1_000_000, "{edge}");
        inject(&wire, &packet(enemy(i), &Segment { seq: SeqNumber(100) + edge - 4, ..next }, b"abc"));
        expect_segment(&wire, |to, s| to == enemy(i) && s.options.sack.len() == 2);
        streams.push(listener.accept().unwrap());
    }
    let grown = resident().saturating_sub(before);
    println!("{} KiB for {n} connections", grown >> 10);
    assert!(grown < u64::from(n) * 40_000, "{grown}");
}

#[test]
fn a_forged_path_mtu_is_ignored_without_a_loss() {
    let (host, wire) = started(|_| ());
    let listener = host.listen(80, 16).unwrap();
    let options = Options { mss: Some(1460), ..Options::default() };
    inject(&wire, &packet(at(PEER), &Segment { options, ..syn() }, &[]));
    let reply = expect_segment(&wire, |_, s| s.flags.has(Flags::SYN | Flags::ACK));
    let next = Segment {
        seq: SeqNumber(100),
        ack: reply.seq + 1,
        window: 60_000,
        flags: Flags::ACK,
        ..Segment::default()
    };
    inject(&wire, &packet(at(PEER), &next, &[]));
    let stream = listener.accept().unwrap();
    let mut at_ack = next.ack;
    for round in 0..5 {
        (&stream).write_all(&[7; 2920]).unwrap();
        let first = expect_segment(&wire, |_, s| s.len > 0);
        assert_eq!((first.seq, first.len), (at_ack, 1460), "round {round}");
        expect_segment(&wire, |_, s| s.seq == at_ack + 1460);
        // The attacker has guessed ports and sequence number.
        let mut quoted = Vec::new();
        emit_tcp(at(HOST), at(PEER), &first, &[7; 1460], Ecn::NotEct, &mut quoted).unwrap();
        if round > 0 {
            wire.send(&icmp_packet(
                "10.9.9.9".parse::<IpAddr>().unwrap(),
                at(HOST).ip(),
                [3, 4],
                68,
                &quoted[..28],
            ))
            .unwrap();
            eventually(5, "the error is processed", || host.counters().icmp_errors == round);
        }
        at_ack += 2920;
        inject(&wire, &packet(at(PEER), &Segment { ack: at_ack, ..next }, &[]));
        eventually(5, "acknowledged", || stream.unacked() == 0);
        assert_eq!(stream.view().smss, 1460);
    }
}

#[test]
fn ports_of_outgoing_connections_are_not_consecutive() {
    let (host, wire) = started(|_| ());
    let mut ports = Vec::new();
    let mut buffer = [0; 2000];
    for i in 0..40 {
        let to = enemy(i);
        std::thread::scope(|scope| {
            let attempt = scope.spawn(|| host.connect(to).err());
            let mut refused = false;
            while !refused {
                if let Ok(n) = wire.recv(&mut buffer) {
                    let syn = parse_ip(&buffer[..n]).unwrap();
                    let (from, _) = syn.endpoints();
                    let ackclock_wire::Transport::Tcp(tcp) = syn.transport else { panic!("not TCP") };
                    ports.push(from.port());
                    let reset = Segment {
                        ack: tcp.segment.seq + 1,
                        flags: Flags::RST | Flags::ACK,
                        ..Segment::default()
                    };
                    let mut out = Vec::new();
                    emit_tcp(to, from, &reset, &[], Ecn::NotEct, &mut out).unwrap();
                    inject(&wire, &out);
                    refused = true;
                }
            }
            attempt.join().unwrap();
        });
    }
    let near = ports.windows(2).filter(|w| w[0].abs_diff(w[1]) < 20).count();
    println!("{ports:?}");
    assert!(near < 5, "{near} of {} follow the one before", ports.len());
}

#[test]
fn resets_to_stray_segments_are_limited() {
    let (host, wire) = started(|_| ());
    let start = Now::now();
    let n = 30_000;
    for i in 0..n {
        inject(&wire, &packet(enemy(i), &Segment { flags: Flags::ACK, ..syn() }, &[]));
    }
    taken(&host, n.into());
    let resets = host.counters().resets_sent;
    println!("{resets} resets in {:?}", start.elapsed());
    assert!(resets > 100 && resets as f64 <= 1000.0 * (start.elapsed().as_secs_f64() + 1.5), "{resets}");
}

#[test]
fn packets_from_own_and_loopback_addresses_are_dropped() {
    let (host, wire) = started(|_| ());
    let _listener = host.listen(80, 16).unwrap();
    // Same source and destination (LAND), another own address, loopback, "this network".
    let from = [HOST, "10.0.0.1:99", "127.0.0.1:1000", "127.9.9.9:80", "0.0.0.9:1000"];
    for from in from {
        for flags in [Flags::SYN, Flags::ACK] {
            inject(&wire, &packet(at(from), &Segment { flags, ..syn() }, &[]));
        }
    }
    taken(&host, 2 * from.len() as u64);
    let c = host.counters();
    assert_eq!((host.connections(), c.packets_sent, c.ignored), (0, 0, 2 * from.len() as u64));
}
