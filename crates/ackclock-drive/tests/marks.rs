//! ECN between the kernel's TCP and the engine: negotiation, and reductions of the sender.
#![cfg(target_os = "linux")]

mod common;

use std::net::Shutdown;
use std::sync::Arc;

use ackclock_drive::{Clock, Lab, LabOptions};
use ackclock_engine::{Config, EcnFeedback};
use ackclock_policy::{Chosen, QueueDiscipline, Registry};
use ackclock_sim::LinkSpec;
use ackclock_units::{Duration, Rate};
use common::{allowed, expect_pattern, kernel_connect, kernel_listener, policies, send_pattern};

const MB: u64 = 1_000_000;

/// A path of 10 Mbit/s and 20 ms with early marking, and an engine with that feedback.
fn lab(feedback: EcnFeedback) -> Lab {
    let mut red: Chosen<dyn QueueDiscipline> = Registry::builtin().choose("red").unwrap();
    for (key, value) in [("ecn", "true"), ("limit", "200packets"), ("w_q", "0.02")] {
        red.set(key, value).unwrap();
    }
    let link = || LinkSpec::new(Rate::from_bits_per_sec(10_000_000), Duration::from_millis(10), red.build());
    let config = Config {
        mss: 65_495,
        time_wait: Duration::from_millis(100),
        ecn: true,
        ecn_feedback: feedback,
        ..Config::default()
    };
    let lab = Lab::new(LabOptions {
        mtu: 1500,
        to_engine: link(),
        to_kernel: link(),
        seed: 7,
        clock: Clock::start(),
        config,
        policies: Arc::clone(&policies("sack", "reno")),
        kernel_capture: None,
        engine_capture: None,
    });
    lab.unwrap()
}

/// The engine sends to the kernel. Returns the number of its reductions by marks.
fn upload(lab: &Lab) -> u32 {
    let listener = kernel_listener(lab, 80);
    std::thread::scope(|scope| {
        scope.spawn(|| expect_pattern(listener.accept().unwrap().0, 3 * MB));
        let stream = lab.host.connect(Lab::kernel(80)).unwrap();
        send_pattern(&stream, 3 * MB);
        stream.shutdown_write();
        assert_eq!(common::read_pattern(&stream, 1), 0);
        stream.stats().ecn_reductions
    })
}

/// The kernel sends to the engine. Returns the number of marked packets reported to the kernel.
fn download(lab: &Lab) -> u64 {
    let heard = || lab.namespace.tcp_counter("TCPDeliveredCE").unwrap();
    let listener = lab.host.listen(81, 5).unwrap();
    let before = heard();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = kernel_connect(lab, Lab::engine(81)).unwrap();
            send_pattern(&mut stream, 3 * MB);
            stream.shutdown(Shutdown::Write).unwrap();
            expect_pattern(stream, 0);
        });
        let stream = listener.accept().unwrap();
        expect_pattern(&stream, 3 * MB);
        stream.shutdown_write();
    });
    heard() - before
}

#[test]
fn feedback_is_negotiated_down_to_what_the_kernel_supports() {
    if !allowed() {
        return;
    }
    for feedback in [EcnFeedback::Rfc3168, EcnFeedback::Dctcp, EcnFeedback::Accurate] {
        let lab = lab(feedback);
        // The kernel negotiates ECN as in RFC 3168.
        lab.namespace.set_sysctl("net.ipv4.tcp_ecn", "1").unwrap();
        let (up, down) = (upload(&lab), download(&lab));
        println!("{feedback:?}: {up} reductions of the engine's, {down} marks reported to the kernel");
        assert!(up > 0 && down > 0, "{feedback:?}: {up}, {down}");
        // A connection without ECN has no marks.
        lab.namespace.set_sysctl("net.ipv4.tcp_ecn", "0").unwrap();
        assert_eq!((upload(&lab), download(&lab)), (0, 0), "{feedback:?}");
    }
}

#[test]
fn accurate_feedback_with_a_kernel_that_supports_it() {
    if !allowed() {
        return;
    }
    let lab = lab(EcnFeedback::Accurate);
    if lab.namespace.set_sysctl("net.ipv4.tcp_ecn", "3").is_err() {
        eprintln!("skipped: this kernel does not offer accurate ECN feedback (net.ipv4.tcp_ecn = 3)");
        return;
    }
    let (up, down) = (upload(&lab), download(&lab));
    println!("{up} reductions of the engine's, {down} marks reported to the kernel");
    assert!(up > 0 && down > 0, "{up}, {down}");
}
