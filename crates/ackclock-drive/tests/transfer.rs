//! Files between the kernel's TCP and the engine, over paths with loss, reordering and duplication. Every
//! byte is checked.
#![cfg(target_os = "linux")]

mod common;

use std::net::Shutdown;

use ackclock_drive::Lab;
use common::{Setup, Trouble, allowed, expect_pattern, kernel_connect, kernel_listener, send_pattern};

const MB: u64 = 1_000_000;

/// The engine sends to the kernel; either of them opens the connection.
fn upload(setup: Setup, bytes: u64) {
    if !allowed() {
        return;
    }
    let lab = setup.lab();
    let listener = kernel_listener(&lab, 80);
    let start = std::time::Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| expect_pattern(listener.accept().unwrap().0, bytes));
        let stream = lab.host.connect(Lab::kernel(80)).unwrap();
        send_pattern(&stream, bytes);
        stream.shutdown_write();
        assert_eq!(common::read_pattern(&stream, 1), 0);
        let s = stream.stats();
        println!(
            "up {bytes} bytes in {:.1?}: {} retransmitted, {} timeouts",
            start.elapsed(),
            s.retransmitted_segments,
            s.timeouts
        );
        assert_eq!((s.bytes_acked, s.bytes_received), (bytes, 0));
    });
    assert_eq!(lab.emulator.report().undelivered, 0);
}

/// The kernel sends to the engine, which listens.
fn download(setup: Setup, bytes: u64) {
    if !allowed() {
        return;
    }
    let lab = setup.lab();
    let listener = lab.host.listen(80, 5).unwrap();
    let start = std::time::Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = kernel_connect(&lab, Lab::engine(80)).unwrap();
            send_pattern(&mut stream, bytes);
            stream.shutdown(Shutdown::Write).unwrap();
            expect_pattern(stream, 0);
        });
        let stream = listener.accept().unwrap();
        expect_pattern(&stream, bytes);
        stream.shutdown_write();
        println!(
            "down {bytes} bytes in {:.1?}: {} duplicates",
            start.elapsed(),
            stream.stats().duplicate_segments
        );
        assert_eq!(stream.stats().bytes_received, bytes);
    });
    let kernel = |name| lab.namespace.tcp_counter(name).unwrap();
    println!("kernel: {} retransmitted, {} timeouts", kernel("RetransSegs"), kernel("TCPTimeouts"));
    assert_eq!(lab.emulator.report().undelivered, 0);
}

fn troubled(loss: f64) -> Setup {
    Setup { trouble: Trouble::of(loss), ..Setup::default() }
}

/// For long transfers: larger packets, so that fewer losses occur per byte.
fn long(loss: f64) -> Setup {
    Setup { mtu: 9000, ..troubled(loss) }
}

#[test]
fn up_1_mb() {
    upload(Setup::default(), MB);
}

#[test]
fn up_1_mb_without_losses_but_reordered() {
    upload(troubled(0.0), MB);
}

#[test]
fn up_1_mb_at_1_percent() {
    upload(troubled(0.01), MB);
}

#[test]
fn up_1_mb_at_5_percent() {
    upload(troubled(0.05), MB);
}

#[test]
fn up_1_mb_with_rack_without_losses_but_reordered() {
    upload(Setup { recovery: "rack", ..troubled(0.0) }, MB);
}

#[test]
fn up_1_mb_with_rack_at_5_percent() {
    upload(Setup { recovery: "rack", ..troubled(0.05) }, MB);
}

#[test]
fn up_50_mb() {
    upload(Setup::default(), 50 * MB);
}

#[test]
fn up_50_mb_without_losses_but_reordered() {
    upload(long(0.0), 50 * MB);
}

#[test]
fn up_50_mb_at_1_percent() {
    upload(long(0.01), 50 * MB);
}

#[test]
fn up_50_mb_at_5_percent() {
    upload(long(0.05), 50 * MB);
}

#[test]
fn down_1_mb() {
    download(Setup::default(), MB);
}

#[test]
fn down_1_mb_without_losses_but_reordered() {
    download(troubled(0.0), MB);
}

#[test]
fn down_1_mb_at_1_percent() {
    download(troubled(0.01), MB);
}

#[test]
fn down_1_mb_at_5_percent() {
    download(troubled(0.05), MB);
}

#[test]
fn down_50_mb() {
    download(Setup::default(), 50 * MB);
}

#[test]
fn down_50_mb_without_losses_but_reordered() {
    download(long(0.0), 50 * MB);
}

#[test]
fn down_50_mb_at_1_percent() {
    download(long(0.01), 50 * MB);
}

#[test]
fn down_50_mb_at_5_percent() {
    download(long(0.05), 50 * MB);
}
