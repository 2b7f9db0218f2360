//! The same attacks on the kernel's TCP and on [`Host`], packet by packet. Both must withstand them.
#![cfg(target_os = "linux")]

mod common;

use std::any::Any;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration as Time, Instant as Now};

use ackclock_drive::{Host, Listener, Namespace, Port, Tun, TunOptions};
use ackclock_units::{Duration, SeqNumber};
use ackclock_wire::{Flags, IpPacket, Segment, Transport, parse_ip};
use common::allowed;
use common::wire::{HOST, PEER, at, enemy, expect_segment, inject, open, packet, started, syn};

/// The attacked host, at [`HOST`].
enum Target {
    Kernel { listener: TcpListener, _namespace: Namespace },
    Ours { listener: Listener, _host: Host },
}

const BACKLOG: usize = 128;
const FIN_TIMEOUT: u64 = 3;

impl Target {
    fn kernel() -> (Self, Port) {
        let namespace = Namespace::new(false).unwrap();
        // All addresses of 10.0.0.0/8 are behind the device.
        let tun = Tun::new(
            &namespace,
            &TunOptions { ipv4: (Ipv4Addr::new(10, 0, 0, 1), 8), ..TunOptions::default() },
        )
        .unwrap();
        for (key, value) in [
            ("tcp_syncookies", "1"),
            ("tcp_fin_timeout", &FIN_TIMEOUT.to_string()),
            ("conf.all.rp_filter", "0"),
        ] {
            namespace.set_sysctl(&format!("net.ipv4.{key}"), value).unwrap();
        }
        let listener = namespace.run(|| TcpListener::bind(at(HOST))).unwrap().unwrap();
        (Self::Kernel { listener, _namespace: namespace }, tun.into())
    }

    fn ours() -> (Self, Port) {
        let (host, wire) = started(|o| o.limits.fin_timeout = Duration::from_secs(FIN_TIMEOUT));
        let listener = host.listen(80, BACKLOG).unwrap();
        (Self::Ours { listener, _host: host }, wire)
    }

    fn both() -> [(&'static str, (Self, Port)); 2] {
        [("kernel", Self::kernel()), ("ours", Self::ours())]
    }

    /// Accepts a connection; returns the peer's address and the connection.
    fn accept(&self) -> (SocketAddr, Box<dyn Any>) {
        match self {
            Self::Kernel { listener, .. } => {
                let (stream, from) = listener.accept().unwrap();
                (from, Box::new(stream))
            }
            Self::Ours { listener, .. } => {
                let stream = listener.accept().unwrap();
                (stream.peer_addr(), Box::new(stream))
            }
        }
    }
}

/// Segments that it sends within `ms` milliseconds.
fn sent(wire: &Port, ms: u64) -> Vec<(SocketAddr, Segment)> {
    let (mut buffer, mut all, start) = ([0; 2000], Vec::new(), Now::now());
    while start.elapsed() < Time::from_millis(ms) {
        while let Ok(n) = wire.recv(&mut buffer) {
            // The kernel sends other packets too.
            if let Ok(ip @ IpPacket { transport: Transport::Tcp(tcp), .. }) = parse_ip(&buffer[..n]) {
                all.push((ip.endpoints().1, tcp.segment));
            }
        }
        std::thread::sleep(Time::from_millis(1));
    }
    all
}

#[test]
fn an_honest_client_gets_through_a_flood_of_syns() {
    if !allowed() {
        return;
    }
    for (name, (target, wire)) in Target::both() {
        for i in 0..5000 {
            inject(&wire, &packet(enemy(i), &syn(), &[]));
        }
        let start = Now::now();
        open(&wire, at(PEER));
        let (from, _stream) = target.accept();
        assert_eq!(from, at(PEER), "{name}");
        println!("{name}: accepted after {:?}", start.elapsed());
    }
}

#[test]
fn a_peer_that_never_closes_is_forgotten() {
    if !allowed() {
        return;
    }
    for (name, (target, wire)) in Target::both() {
        let next = open(&wire, at(PEER));
        drop(target.accept());
        let fin = expect_segment(&wire, |_, s| s.flags.has(Flags::FIN));
        let ack = Segment { ack: fin.end(), ..next };
        inject(&wire, &packet(at(PEER), &ack, &[]));
        let start = Now::now();
        // A reset shows that the connection is gone; until then such an ack gets no response.
        let mut gone = None;
        while gone.is_none() && start.elapsed() < Time::from_secs(4 * FIN_TIMEOUT) {
            inject(&wire, &packet(at(PEER), &ack, &[]));
            gone = sent(&wire, 50).iter().any(|(_, s)| s.flags.has(Flags::RST)).then(|| start.elapsed());
        }
        println!("{name}: gone after {gone:?}");
        let after = gone.unwrap_or_else(|| panic!("{name}: still there")).as_secs_f64();
        assert!(after > FIN_TIMEOUT as f64 - 1.0 && after < 3.0 * FIN_TIMEOUT as f64, "{name}: {after}");
    }
}

#[test]
fn packets_from_the_hosts_own_address_get_no_response() {
    if !allowed() {
        return;
    }
    for (name, (_target, wire)) in Target::both() {
        sent(&wire, 50);
        for from in [HOST, "10.0.0.1:99", "127.0.0.1:1000", "0.0.0.9:1000", "224.0.0.1:1000"] {
            for flags in [Flags::SYN, Flags::ACK] {
                inject(&wire, &packet(at(from), &Segment { seq: SeqNumber(99), flags, ..syn() }, &[]));
            }
        }
        assert_eq!(sent(&wire, 300), [], "{name}");
        open(&wire, at(PEER));
    }
}
