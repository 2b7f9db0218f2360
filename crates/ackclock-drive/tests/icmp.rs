//! ICMP errors from the real kernel: a path with a smaller MTU in the middle, and unreachable addresses.
#![cfg(target_os = "linux")]

mod common;

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration as Time, Instant as Now};

use ackclock_drive::{Clock, Host, HostLimits, HostOptions, Namespace, Port, Stream, Tun, TunOptions};
use ackclock_engine::{Config, Stats};
use ackclock_testkit::icmp_packet;
use ackclock_wire::parse_ip;
use common::{Setup, allowed, expect_pattern, policies, send_pattern};

/// A [`Host`], two routers with a link of MTU 1000 between them (1300 for IPv6), and a kernel's server behind
/// the second. All other links have MTU 1500.
struct Path {
    host: Host,
    server: Namespace,
    first: Namespace,
    second: Namespace,
    /// Devices are moved to a namespace by the id of a process in it.
    keepers: Vec<Child>,
}

const OURS: &str = "10.1.0.2";
const OURS6: &str = "fd01::2";
const SERVER: &str = "10.3.0.2";
const SERVER6: &str = "fd03::2";

impl Path {
    /// `None` where it cannot be set up.
    fn new(offload: bool) -> Option<Self> {
        if !allowed() {
            return None;
        }
        if Command::new("ip").arg("-V").stdout(Stdio::null()).status().is_err() {
            eprintln!("skipped: needs the program `ip`");
            return None;
        }
        let [first, second, server] = [(); 3].map(|()| Namespace::new(true).unwrap());
        let (v4, v6) = ((Ipv4Addr::new(10, 1, 0, 1), 24), (Ipv6Addr::new(0xfd01, 0, 0, 0, 0, 0, 0, 1), 64));
        let tun =
            Tun::new(&first, &TunOptions { ipv4: v4, ipv6: Some(v6), offload, ..TunOptions::default() })
                .unwrap();
        let keepers: Vec<Child> =
            [&second, &server].map(|ns| ns.spawn(Command::new("sleep").arg("1000")).unwrap()).into();
        let [second_id, server_id] = [keepers[0].id(), keepers[1].id()];
        for ns in [&first, &second] {
            ns.set_sysctl("net.ipv4.ip_forward", "1").unwrap();
            ns.set_sysctl("net.ipv6.conf.all.forwarding", "1").unwrap();
        }
        ip(&first, &format!("link add narrow type veth peer name narrow netns {second_id}"));
        ip(&second, &format!("link add wide type veth peer name wide netns {server_id}"));
        let ends = [
            (&first, "narrow", "2.0.1", "2::1"),
            (&second, "narrow", "2.0.2", "2::2"),
            (&second, "wide", "3.0.1", "3::1"),
        ];
        for (ns, device, v4, v6) in ends.into_iter().chain([(&server, "wide", "3.0.2", "3::2")]) {
            ip(ns, &format!("addr add 10.{v4}/24 dev {device}"));
            ip(ns, &format!("addr add fd0{v6}/64 dev {device} nodad"));
            ip(ns, &format!("link set {device} up"));
        }
        for (ns, to, by) in
            [(&first, "3", "2.0.2 2::2"), (&second, "1", "2.0.1 2::1"), (&server, "1", "3.0.1 3::1")]
        {
            let (v4, v6) = by.split_once(' ').unwrap();
            ip(ns, &format!("route add 10.{to}.0.0/24 via 10.{v4}"));
            ip(ns, &format!("route add fd0{to}::/64 via fd0{v6}"));
        }
        let addresses = vec![OURS.parse().unwrap(), OURS6.parse().unwrap()];
        let config = Setup::default().config;
        let options = HostOptions {
            addresses,
            mtu: 1500,
            config,
            policies: policies("sack", "cubic"),
            clock: Clock::start(),
            limits: HostLimits::default(),
        };
        Some(Self { host: Host::start(Port::from(tun), options).unwrap(), server, first, second, keepers })
    }

    /// Sets the MTU of both ends of the link in the middle.
    fn narrow(&self, mtu: u32) {
        for ns in [&self.first, &self.second] {
            ip(ns, &format!("link set narrow mtu {mtu}"));
        }
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        for keeper in &mut self.keepers {
            let _ = keeper.kill();
            let _ = keeper.wait();
        }
    }
}

fn ip(ns: &Namespace, arguments: &str) {
    let status = ns.spawn(Command::new("ip").args(arguments.split(' '))).unwrap().wait().unwrap();
    assert!(status.success(), "ip {arguments}");
}

fn at(address: &str, port: u16) -> SocketAddr {
    SocketAddr::new(address.parse().unwrap(), port)
}

/// A transfer in each direction on its own connection; returns the counters of the sending engine.
fn both_ways(path: &Path, ours: &str, theirs: &str, bytes: u64) -> Stats {
    let listener = path.server.run(|| TcpListener::bind(at(theirs, 80))).unwrap().unwrap();
    let own = path.host.listen(81, 5).unwrap();
    let stats = std::thread::scope(|scope| {
        scope.spawn(|| expect_pattern(listener.accept().unwrap().0, bytes));
        let stream = path.host.connect(at(theirs, 80)).unwrap();
        send_pattern(&stream, bytes);
        stream.shutdown_write();
        assert_eq!(common::read_pattern(&stream, 1), 0);
        stream.stats()
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = path.server.run(|| TcpStream::connect(at(ours, 81))).unwrap().unwrap();
            send_pattern(&mut stream, bytes);
            stream.shutdown(Shutdown::Write).unwrap();
            expect_pattern(stream, 0);
        });
        let stream = own.accept().unwrap();
        expect_pattern(&stream, bytes);
        stream.shutdown_write();
        assert_eq!(stream.stats().bytes_received, bytes);
    });
    stats
}

#[test]
fn a_smaller_mtu_in_the_middle_is_discovered_at_once() {
    for (offload, ours, theirs, mtu) in [
        (false, OURS, SERVER, 1000),
        (true, OURS, SERVER, 1000),
        (false, OURS6, SERVER6, 1300),
        (true, OURS6, SERVER6, 1300),
    ] {
        let Some(path) = Path::new(offload) else { return };
        path.narrow(mtu);
        let (start, bytes) = (Now::now(), 3_000_000);
        let stats = both_ways(&path, ours, theirs, bytes);
        let errors = path.host.counters().icmp_errors;
        println!(
            "{theirs}, offload {offload}: {:.1?}, {errors} errors, {} segments retransmitted",
            start.elapsed(),
            stats.retransmitted_segments
        );
        assert!(errors > 0 && stats.retransmitted_segments > 0);
        assert_eq!((stats.bytes_acked, stats.timeouts, stats.window_cuts), (bytes, 0, 0));
    }
}

/// A stream with a function to call after a number of bytes.
struct Watched<'a, F: Fn()> {
    stream: &'a Stream,
    left: u64,
    then: F,
}

impl<F: Fn()> Write for Watched<'_, F> {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        let mut stream = self.stream;
        let n = stream.write(data)?;
        if self.left > 0 && self.left <= n as u64 {
            (self.then)();
        }
        self.left = self.left.saturating_sub(n as u64);
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_mtu_that_shrinks_during_a_transfer_is_discovered() {
    let Some(path) = Path::new(false) else { return };
    let listener = path.server.run(|| TcpListener::bind(at(SERVER, 80))).unwrap().unwrap();
    let bytes = 3_000_000;
    std::thread::scope(|scope| {
        scope.spawn(|| expect_pattern(listener.accept().unwrap().0, bytes * 2));
        let stream = path.host.connect(at(SERVER, 80)).unwrap();
        send_pattern(Watched { stream: &stream, left: bytes, then: || path.narrow(600) }, bytes * 2);
        stream.shutdown_write();
        assert_eq!(common::read_pattern(&stream, 1), 0);
        assert_eq!(stream.stats().bytes_acked, bytes * 2);
        assert_eq!(stream.view().smss, 560);
    });
}

#[test]
fn an_unreachable_address_fails_at_once() {
    let Some(path) = Path::new(false) else { return };
    // The errors of routers without a route, and of those that prohibit it.
    ip(&path.first, "route add unreachable 10.9.0.0/24");
    ip(&path.first, "route add unreachable fd09::/64");
    ip(&path.first, "route add prohibit fd0a::/64");
    for address in ["10.9.0.1", "fd09::1", "fd0a::1"] {
        let start = Now::now();
        let failed = path.host.connect(at(address, 80)).err().map(|e| e.kind());
        assert_eq!(failed, Some(ErrorKind::HostUnreachable), "{address}");
        assert!(start.elapsed() < Time::from_secs(2), "{address}: {:?}", start.elapsed());
    }
}

/// A [`Host`] and the other end of its wire.
fn wired() -> (Host, Port) {
    let (wire, port) = Port::pair().unwrap();
    let config = Config::default();
    let options = HostOptions {
        addresses: vec![OURS.parse().unwrap()],
        mtu: 1500,
        config,
        policies: policies("sack", "cubic"),
        clock: Clock::start(),
        limits: HostLimits::default(),
    };
    (Host::start(port, options).unwrap(), wire)
}

/// The next packet from the host.
fn next(wire: &Port) -> Vec<u8> {
    let mut buffer = [0; 2000];
    for _ in 0..10_000 {
        if let Ok(n) = wire.recv(&mut buffer) {
            return buffer[..n].to_vec();
        }
        std::thread::sleep(Time::from_millis(1));
    }
    panic!("nothing in 10 s");
}

#[test]
fn an_icmp_error_affects_only_the_connection_that_it_quotes() {
    let (host, wire) = wired();
    let router: IpAddr = "10.9.9.9".parse().unwrap();
    std::thread::scope(|scope| {
        let attempt = scope.spawn(|| host.connect(at(SERVER, 80)).err().map(|e| e.kind()));
        let syn = next(&wire);
        assert_eq!(syn[6] & 0x40, 0x40, "RFC 1191 §3: DF is set");
        let ours = parse_ip(&syn).unwrap().src;
        let refusal = |change: fn(&mut Vec<u8>)| {
            let mut quoted = syn.clone();
            change(&mut quoted);
            icmp_packet(router, ours, [3, 3], 0, &quoted[..28])
        };
        // Quotes of another port, address or sequence number; to another host, from an invalid address,
        // truncated, and corrupted.
        let mut changed = refusal(|_| ());
        changed[40] ^= 1;
        let wrong = [
            refusal(|q| q[21] ^= 1),
            refusal(|q| q[19] ^= 1),
            refusal(|q| q[9] = 17),
            refusal(|q| q.truncate(28)).into_iter().take(47).collect(),
            icmp_packet(router, SERVER.parse().unwrap(), [3, 3], 0, &syn[..28]),
            icmp_packet("224.0.0.1".parse().unwrap(), ours, [3, 3], 0, &syn[..28]),
            changed,
        ];
        for bytes in &wrong {
            wire.send(bytes).unwrap();
        }
        wire.send(&refusal(|q| q[27] ^= 1)).unwrap();
        while host.counters().packets_received < wrong.len() as u64 + 1 {
            std::thread::sleep(Time::from_millis(1));
        }
        assert!(!attempt.is_finished());
        assert_eq!((host.counters().ignored, host.counters().icmp_errors), (wrong.len() as u64, 1));
        wire.send(&refusal(|_| ())).unwrap();
        assert_eq!(attempt.join().unwrap(), Some(ErrorKind::ConnectionRefused));
    });
    assert_eq!(host.connections(), 0);
}
