//! A transfer of the kernel's TCP over the emulator, captured at its sender.
#![cfg(target_os = "linux")]

mod common;

use std::ops::ControlFlow;
use std::path::PathBuf;

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, Options};
use ackclock_drive::{Capture, Clock, DriveError, KernelTransfer, Kernels, KernelsOptions};
use ackclock_sim::{FaultVerdict, LinkSpec, PacketInfo};
use ackclock_units::{Duration, Instant, Rng};
use common::allowed;

/// A path of 10 ms that loses every hundredth packet in the forward direction.
fn kernels(clock: Clock, capture: Option<Capture>) -> Kernels {
    let delay = || LinkSpec::delay(Duration::from_millis(5));
    let there =
        delay().with_fault(
            |p: &PacketInfo, _: Instant, _: &mut Rng| {
                if p.number % 100 == 99 { FaultVerdict::Drop } else { FaultVerdict::Pass }
            },
        );
    Kernels::new(KernelsOptions {
        mtu: 1500,
        there,
        back: delay(),
        access: Default::default(),
        seed: 1,
        clock,
        capture,
    })
    .unwrap()
}

fn transfer(ms: u64, congestion_control: &str) -> KernelTransfer {
    let parameters = vec![("net.ipv4.tcp_congestion_control".to_owned(), congestion_control.to_owned())];
    KernelTransfer { duration: Duration::from_millis(ms), parameters }
}

#[test]
fn the_capture_matches_the_kernels_counters() {
    if !allowed() {
        return;
    }
    let clock = Clock::start();
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("kernel-transfer-{}.pcapng", std::process::id()));
    let capture = Capture::create(&path, clock).unwrap();
    let found = transfer(1500, "reno")
        .run(kernels(clock, Some(capture.clone())), &mut || ControlFlow::Continue(()))
        .unwrap();
    capture.finish().unwrap();
    let mut analysis = Analysis::new(Options::default());
    assert!(
        analysis
            .read(&mut Packets::new(open(&path).unwrap()).unwrap(), |_| ControlFlow::Continue(()))
            .unwrap()
    );
    let _ = std::fs::remove_file(path);
    let report = analysis.finish();
    let [c] = &report.connections[..] else { panic!("{} connections", report.connections.len()) };
    let d = &c.directions[0];
    assert!(found.path.forward.fault_drops > 3 && found.received > 100_000, "{found:?}");
    // Retransmissions while the counters are read are only in the capture.
    let later = d.retransmitted_packets - found.retransmitted;
    assert!(found.retransmitted > 3 && later <= 3, "{found:?}, captured {}", d.retransmitted_packets);
    assert!(d.timeouts.len() as u64 >= found.timeouts);
}

#[test]
fn a_transfer_can_be_stopped_and_refuses_unknown_parameters() {
    if !allowed() {
        return;
    }
    let clock = Clock::start();
    let began = std::time::Instant::now();
    let found = transfer(60_000, "reno").run(kernels(clock, None), &mut || ControlFlow::Break(())).unwrap();
    assert!(began.elapsed().as_secs() < 30 && found.received > 0, "{found:?}");
    let refused = transfer(1000, "no-such-rule").run(kernels(clock, None), &mut || ControlFlow::Continue(()));
    let Err(DriveError::Missing(sentence)) = refused else { panic!("{refused:?}") };
    assert!(sentence.contains("tcp_congestion_control") && sentence.contains("no-such-rule"), "{sentence}");
}
