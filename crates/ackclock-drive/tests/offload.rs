//! The host directly on a TUN device, with and without packets of many segments. Every byte is checked.
#![cfg(target_os = "linux")]

mod common;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};

use ackclock_drive::{Clock, Host, HostLimits, HostOptions, Lab, Namespace, Tun, TunOptions};
use common::{Setup, allowed, expect_pattern, policies, send_pattern};

const BYTES: u64 = 20_000_000;

fn direct(mtu: u16, offload: bool) -> (Namespace, Host) {
    let ipv6 = mtu >= 1280;
    let namespace = Namespace::new(ipv6).unwrap();
    let options = TunOptions {
        ipv4: (Lab::KERNEL, 24),
        ipv6: ipv6.then_some((Lab::KERNEL6, 64)),
        mtu,
        offload,
        ..TunOptions::default()
    };
    let tun = Tun::new(&namespace, &options).unwrap();
    let options = HostOptions {
        addresses: vec![Lab::ENGINE.into(), Lab::ENGINE6.into()],
        mtu,
        config: Setup::default().config,
        policies: policies("sack", "cubic"),
        clock: Clock::start(),
        limits: HostLimits::default(),
    };
    (namespace, Host::start(tun, options).unwrap())
}

/// The engine opens and sends; then the kernel opens and sends.
fn both_ways(namespace: &Namespace, host: &Host, kernel: IpAddr, engine: IpAddr) {
    let to = SocketAddr::new(kernel, 80);
    let listener = namespace.run(|| TcpListener::bind(to).unwrap()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| expect_pattern(listener.accept().unwrap().0, BYTES));
        let stream = host.connect(to).unwrap();
        send_pattern(&stream, BYTES);
        stream.shutdown_write();
        expect_pattern(&stream, 0);
        assert_eq!(stream.stats().bytes_acked, BYTES);
    });
    let listener = host.listen(81, 5).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream =
                namespace.run(|| TcpStream::connect(SocketAddr::new(engine, 81)).unwrap()).unwrap();
            send_pattern(&mut stream, BYTES);
            stream.shutdown(Shutdown::Write).unwrap();
            expect_pattern(stream, 0);
        });
        let stream = listener.accept().unwrap();
        expect_pattern(&stream, BYTES);
        stream.shutdown_write();
    });
    // A reset is sent by a separate code path.
    let refused = namespace.run(|| TcpStream::connect(SocketAddr::new(engine, 9))).unwrap();
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
}

fn v4() -> (IpAddr, IpAddr) {
    (Ipv4Addr::into(Lab::KERNEL), Ipv4Addr::into(Lab::ENGINE))
}

fn v6() -> (IpAddr, IpAddr) {
    (Ipv6Addr::into(Lab::KERNEL6), Ipv6Addr::into(Lab::ENGINE6))
}

#[test]
fn packet_by_packet() {
    if !allowed() {
        return;
    }
    let (namespace, host) = direct(1500, false);
    both_ways(&namespace, &host, v4().0, v4().1);
    let c = host.counters();
    assert!(c.packets_received > BYTES / 1460 && c.packets_sent > BYTES / 1460, "{c:?}");
    assert_eq!(c.send_failures, 0);
}

#[test]
fn many_segments_in_a_packet() {
    if !allowed() {
        return;
    }
    for (mtu, (kernel, engine)) in [(576, v4()), (1500, v4()), (1500, v6()), (9000, v4())] {
        let (namespace, host) = direct(mtu, true);
        both_ways(&namespace, &host, kernel, engine);
        let c = host.counters();
        // There must be far fewer packets than segments; how many depends on the load of the machine.
        let segments = BYTES / u64::from(mtu);
        if mtu <= 1500 {
            assert!(
                c.packets_sent < segments && c.packets_received < segments,
                "MTU {mtu}: {c:?}, {segments} segments each way"
            );
        }
        assert_eq!(c.send_failures, 0);
    }
}
