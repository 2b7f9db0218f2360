//! Opening, closing, resetting and stalling against the kernel's TCP, with its options on and off.
#![cfg(target_os = "linux")]

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration as Time;

use ackclock_drive::{Lab, Stream};
use ackclock_engine::{Config, State};
use common::{
    Setup, Trouble, allowed, expect_pattern, kernel_connect, kernel_listener, read_pattern, send_pattern,
};

/// A connection opened by the engine: its end and the kernel's.
fn pair(lab: &Lab, port: u16) -> (Stream, TcpStream) {
    let listener = kernel_listener(lab, port);
    let ours = lab.host.connect(Lab::kernel(port)).unwrap();
    (ours, listener.accept().unwrap().0)
}

/// A connection opened by the kernel.
fn pair_from_kernel(lab: &Lab, port: u16) -> (Stream, TcpStream) {
    let listener = lab.host.listen(port, 5).unwrap();
    let theirs = kernel_connect(lab, Lab::engine(port)).unwrap();
    (listener.accept().unwrap(), theirs)
}

/// Sends both ways at once, then closes.
fn exchange(ours: Stream, mut theirs: TcpStream, bytes: u64) {
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| send_pattern(&ours, bytes));
        scope.spawn(|| expect_pattern(&theirs, bytes));
        scope.spawn(|| {
            send_pattern(&theirs, bytes);
            theirs.shutdown(Shutdown::Write).unwrap();
        });
        expect_pattern(&ours, bytes);
        sender.join().expect("everything is written");
        while ours.unacked() > 0 {
            std::thread::sleep(Time::from_millis(1));
        }
        ours.shutdown_write();
    });
    assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
}

/// Waits up to 10 s until `done`.
fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if done() {
            return;
        }
        std::thread::sleep(Time::from_millis(10));
    }
    panic!("not in 10 s: {what}");
}

#[test]
fn both_may_open_and_both_may_send() {
    if !allowed() {
        return;
    }
    let lab = Setup::default().lab();
    let (ours, theirs) = pair(&lab, 80);
    assert_eq!(ours.peer_addr(), Lab::kernel(80));
    assert_eq!(theirs.peer_addr().unwrap(), ours.local_addr());
    exchange(ours, theirs, 300_000);
    let (ours, theirs) = pair_from_kernel(&lab, 81);
    assert_eq!((ours.local_addr(), theirs.peer_addr().unwrap()), (Lab::engine(81), Lab::engine(81)));
    exchange(ours, theirs, 300_000);
    eventually("every connection is gone after TIME-WAIT", || lab.host.connections() == 0);
    assert_eq!(lab.host.counters().resets_sent, 0);
}

#[test]
fn it_works_over_ipv6() {
    if !allowed() {
        return;
    }
    let lab = Setup::default().lab();
    let kernel = SocketAddr::new(IpAddr::V6(Lab::KERNEL6), 80);
    let listener = lab.namespace.run(|| TcpListener::bind(kernel).unwrap()).unwrap();
    let ours = lab.host.connect(kernel).unwrap();
    exchange(ours, listener.accept().unwrap().0, 300_000);
    let listener = lab.host.listen(81, 5).unwrap();
    let theirs = kernel_connect(&lab, SocketAddr::new(IpAddr::V6(Lab::ENGINE6), 81)).unwrap();
    exchange(listener.accept().unwrap(), theirs, 300_000);
}

#[test]
fn a_closed_port_refuses_at_once() {
    if !allowed() {
        return;
    }
    let lab = Setup::default().lab();
    assert_eq!(lab.host.connect(Lab::kernel(9)).err().map(|e| e.kind()), Some(ErrorKind::ConnectionRefused));
    assert_eq!(kernel_connect(&lab, Lab::engine(9)).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert_eq!(lab.host.counters().resets_sent, 1);
    assert_eq!(lab.host.connections(), 0);
}

#[test]
fn a_hundred_connections_at_once() {
    if !allowed() {
        return;
    }
    let lab = Setup { trouble: Trouble::of(0.01), ..Setup::default() }.lab();
    let (each, n) = (50_000, 50);
    let theirs = kernel_listener(&lab, 80);
    let ours = lab.host.listen(81, 100).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..n {
            let (lab, theirs, ours) = (&lab, &theirs, &ours);
            // Each side opens half of them; each sends in both directions.
            scope.spawn(move || {
                let mut s = theirs.accept().unwrap().0;
                expect_pattern(&mut s, each);
                send_pattern(&mut s, each);
            });
            scope.spawn(move || {
                let s = lab.host.connect(Lab::kernel(80)).unwrap();
                send_pattern(&s, each);
                s.shutdown_write();
                expect_pattern(&s, each);
            });
            scope.spawn(move || {
                let s = ours.accept().unwrap();
                expect_pattern(&s, each);
                send_pattern(&s, each);
            });
            scope.spawn(move || {
                let s = kernel_connect(lab, Lab::engine(81)).unwrap();
                send_pattern(&s, each);
                s.shutdown(Shutdown::Write).unwrap();
                expect_pattern(&s, each);
            });
        }
    });
    eventually("every connection is gone", || lab.host.connections() == 0);
}

#[test]
fn a_side_that_has_closed_still_receives() {
    if !allowed() {
        return;
    }
    let lab = Setup::default().lab();
    let (ours, theirs) = pair(&lab, 80);
    ours.shutdown_write();
    assert_eq!((&theirs).read(&mut [0]).unwrap(), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            send_pattern(&theirs, 500_000);
            theirs.shutdown(Shutdown::Write).unwrap();
        });
        expect_pattern(&ours, 500_000);
    });
    assert_eq!((&ours).write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);

    let (ours, theirs) = pair(&lab, 81);
    theirs.shutdown(Shutdown::Write).unwrap();
    assert_eq!((&ours).read(&mut [0]).unwrap(), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            send_pattern(&ours, 500_000);
            ours.shutdown_write();
        });
        expect_pattern(&theirs, 500_000);
    });
}

#[test]
fn a_reset_of_ours_reaches_the_kernel() {
    if !allowed() {
        return;
    }
    let lab = Setup::default().lab();
    for (ours, theirs) in [pair(&lab, 80), pair_from_kernel(&lab, 81)] {
        ours.abort();
        assert_eq!((&theirs).read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
    // Dropped with unread data, so it sends a reset.
    let (ours, theirs) = pair(&lab, 82);
    (&theirs).write_all(b"unread").unwrap();
    eventually("the data has arrived", || ours.stats().bytes_received == 6);
    drop(ours);
    assert_eq!((&theirs).read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(lab.host.connections(), 0);
}

#[test]
fn a_reset_of_the_kernels_reaches_us() {
    if !allowed() {
        return;
    }
    let lab = Setup::default().lab();
    for (ours, theirs) in [pair(&lab, 80), pair_from_kernel(&lab, 81)] {
        // A kernel sends a reset when it closes with unread data.
        (&ours).write_all(b"unread").unwrap();
        eventually("the kernel has it", || ours.unacked() == 0);
        drop(theirs);
        assert_eq!((&ours).read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert_eq!((&ours).write(b"x").unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}

#[test]
fn a_closed_window_of_the_kernel_stops_the_engine_until_it_opens() {
    if !allowed() {
        return;
    }
    let lab = Setup::default().lab();
    lab.namespace.set_sysctl("net.ipv4.tcp_rmem", "4096 16384 16384").unwrap();
    let (ours, theirs) = pair(&lab, 80);
    let bytes = 4_000_000;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            send_pattern(&ours, bytes);
            ours.shutdown_write();
        });
        eventually("the kernel's window is closed", || {
            ours.view().rwnd < 1000 && ours.stats().bytes_acked > 1000
        });
        // Long enough for several probes.
        std::thread::sleep(Time::from_millis(1500));
        let stalled = ours.stats().bytes_acked;
        assert!(stalled < bytes / 2, "{stalled}");
        expect_pattern(&theirs, bytes);
    });
    eventually("our end is acknowledged", || ours.state() == State::FinWait2);
}

#[test]
fn a_closed_window_of_the_engine_stops_the_kernel() {
    if !allowed() {
        return;
    }
    let config = Config { rcv_buf: 20_000, ..Setup::default().config };
    let lab = Setup { config, ..Setup::default() }.lab();
    let (ours, theirs) = pair(&lab, 80);
    let bytes = 4_000_000;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            send_pattern(&theirs, bytes);
            theirs.shutdown(Shutdown::Write).unwrap();
        });
        eventually("our buffer is full", || ours.stats().bytes_received > 17_000);
        std::thread::sleep(Time::from_millis(1500));
        assert!(ours.stats().bytes_received <= 20_000, "{}", ours.stats().bytes_received);
        expect_pattern(&ours, bytes);
    });
}

#[test]
fn small_and_large_packets() {
    if !allowed() {
        return;
    }
    for mtu in [576, 1280, 9000, 65_535] {
        let lab = Setup { mtu, ..Setup::default() }.lab();
        let (ours, theirs) = pair(&lab, 80);
        let full = u32::from(mtu) - 40;
        assert!((full - 12..=full).contains(&ours.view().smss), "{mtu}: {}", ours.view().smss);
        exchange(ours, theirs, 1_000_000);
        let (ours, theirs) = pair_from_kernel(&lab, 81);
        exchange(ours, theirs, 1_000_000);
    }
}

#[test]
fn options_on_and_off_on_either_side() {
    if !allowed() {
        return;
    }
    for kernel in [false, true] {
        for engine in [false, true] {
            let config = Config {
                timestamps: engine,
                sack: engine,
                window_scaling: engine,
                ..Setup::default().config
            };
            let lab = Setup { config, trouble: Trouble::of(0.01), ..Setup::default() }.lab();
            for key in ["tcp_timestamps", "tcp_sack", "tcp_window_scaling"] {
                lab.namespace.set_sysctl(&format!("net.ipv4.{key}"), if kernel { "1" } else { "0" }).unwrap();
            }
            for (ours, theirs) in [pair(&lab, 80), pair_from_kernel(&lab, 81)] {
                let view = ours.view();
                assert_eq!((view.timestamps, view.sack), (kernel && engine, kernel && engine));
                exchange(ours, theirs, 500_000);
            }
        }
    }
}

#[test]
fn each_recovery_copes_with_losses() {
    if !allowed() {
        return;
    }
    for recovery in ["timeout-only", "tahoe", "reno", "newreno", "sack"] {
        let lab = Setup { recovery, trouble: Trouble::of(0.01), ..Setup::default() }.lab();
        let (ours, theirs) = pair(&lab, 80);
        exchange(ours, theirs, 500_000);
    }
}

#[test]
fn both_sides_close_at_the_same_time() {
    if !allowed() {
        return;
    }
    // 50 ms one way, so that the FINs cross.
    let lab = Setup { delay: ackclock_units::Duration::from_millis(50), ..Setup::default() }.lab();
    let (ours, theirs) = pair(&lab, 80);
    (&ours).write_all(b"last words").unwrap();
    ours.shutdown_write();
    (&theirs).write_all(b"last words").unwrap();
    theirs.shutdown(Shutdown::Write).unwrap();
    let mut words = Vec::new();
    (&ours).read_to_end(&mut words).unwrap();
    (&theirs).read_to_end(&mut words).unwrap();
    assert_eq!(words, b"last wordslast words");
    eventually("the connection is over", || ours.state() == State::Closed);
    drop(ours);
    assert_eq!(lab.host.connections(), 0);
    assert_eq!(lab.host.counters().resets_sent, 0);
}

#[test]
fn a_lost_peer_is_given_up() {
    if !allowed() {
        return;
    }
    let config = Config {
        user_timeout: ackclock_units::Duration::from_secs(1),
        syn_retries: 1,
        ..Setup::default().config
    };
    let lab = Setup { config, ..Setup::default() }.lab();
    let (ours, _theirs) = pair(&lab, 80);
    // From here on no segments are accepted: the kernel's device has another address.
    let unused = SocketAddr::new([10, 77, 0, 99].into(), 80);
    assert_eq!(lab.host.connect(unused).err().map(|e| e.kind()), Some(ErrorKind::TimedOut));
    drop(ours);
}

#[test]
fn reading_can_be_limited_in_time() {
    if !allowed() {
        return;
    }
    let lab = Setup::default().lab();
    let (ours, theirs) = pair(&lab, 80);
    ours.set_read_timeout(Some(Time::from_millis(30)));
    assert_eq!((&ours).read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    send_pattern(&theirs, 10);
    assert_eq!(read_pattern(&ours, 10), 10);
}

#[test]
fn a_full_backlog_makes_the_kernel_try_again() {
    if !allowed() {
        return;
    }
    let lab = Setup::default().lab();
    let listener = lab.host.listen(80, 1).unwrap();
    assert_eq!(lab.host.listen(80, 1).err().map(|e| e.kind()), Some(ErrorKind::AddrInUse));
    let first = kernel_connect(&lab, Lab::engine(80)).unwrap();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| kernel_connect(&lab, Lab::engine(80)).unwrap());
        eventually("a SYN was dropped", || lab.host.counters().backlog_drops > 0);
        let accepted = listener.accept().unwrap();
        assert_eq!(accepted.peer_addr(), first.local_addr().unwrap());
        // The kernel retransmits its SYN after a second.
        let (theirs, ours) = (second.join().unwrap(), listener.accept().unwrap());
        assert_eq!(ours.peer_addr(), theirs.local_addr().unwrap());
        // Unaccepted connections are reset when the listener is dropped.
        let third = kernel_connect(&lab, Lab::engine(80)).unwrap();
        drop(listener);
        assert_eq!((&third).read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}
