//! The download from Python's web server, and its captures.
#![cfg(target_os = "linux")]

mod common;

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration as Time;

use ackclock_drive::{DemoOptions, DriveError, download_demo};
use ackclock_wire::{Transport, parse_ip};
use common::{Setup, allowed, policies};
use pcap_file::pcapng::{Block, PcapNgReader};

const BYTES: u64 = 1_000_000;

fn options() -> DemoOptions {
    DemoOptions { bytes: BYTES, ..DemoOptions::new(Setup::default().config, policies("sack", "cubic")) }
}

/// A folder for one test, removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ackclock-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Number of packets and TCP payload bytes of a capture, which must be intact, in order of time and recent.
fn read_capture(path: &Path) -> (u64, u64) {
    let mut reader = PcapNgReader::new(File::open(path).unwrap()).unwrap();
    let (mut packets, mut bytes, mut last) = (0, 0, Time::ZERO);
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(p) = block.unwrap() {
            let ip = parse_ip(&p.data).unwrap();
            let Transport::Tcp(tcp) = ip.transport else { continue };
            (packets, bytes) = (packets + 1, bytes + u64::from(tcp.segment.len));
            assert!(
                p.timestamp >= last && p.timestamp > Time::from_secs(1_700_000_000),
                "{:?} after {last:?}",
                p.timestamp
            );
            last = p.timestamp;
        }
    }
    (packets, bytes)
}

/// Output of a program for a capture; `None` where it is not installed.
fn output_of(program: &str, args: &[&str], capture: &Path) -> Option<String> {
    let output = Command::new(program).args(args).arg(capture).output().ok()?;
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_file_arrives_and_both_ends_are_recorded() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("demo");
    let mut calls = 0;
    let options = DemoOptions { captures: Some(folder.0.clone()), ..options() };
    let report = download_demo(&options, &mut |p| {
        calls += 1;
        assert!(p.received <= p.of && p.of == BYTES);
        ControlFlow::Continue(())
    });
    let report = report.unwrap();
    assert!(calls > 0);
    assert_eq!((report.bytes, report.sha256.len()), (BYTES, 64));
    assert!(report.engine.bytes_received > BYTES, "the response has headers too");
    // No faster than the path.
    assert!(report.goodput < options.rate && report.duration > Time::from_millis(400), "{report:?}");
    assert!(report.path.forward.fault_drops > 0 && report.path.backward.served > 0);

    let [kernel, engine] = &report.captures[..] else { panic!("{:?}", report.captures) };
    let (at_kernel, at_engine) = (read_capture(kernel), read_capture(engine));
    // Lost packets are in only one of the captures.
    assert!(at_kernel.1 > at_engine.1 && at_engine.1 >= BYTES, "{at_kernel:?} {at_engine:?}");
    assert!(at_kernel.0 > BYTES / 1460);
    for capture in &report.captures {
        // Without reassembly of the response, in which resegmented retransmissions would count as errors.
        let strict = [
            "-o",
            "tcp.desegment_tcp_streams:FALSE",
            "-o",
            "tcp.check_checksum:TRUE",
            "-o",
            "ip.check_checksum:TRUE",
        ];
        if let Some(text) =
            output_of("tshark", &[&strict[..], &["-q", "-z", "expert,error", "-r"]].concat(), capture)
        {
            assert!(!text.contains("Errors"), "{text}");
        }
        if let Some(text) = output_of("tcptrace", &["-l", "-r", "-n"], capture) {
            assert!(text.contains("1 TCP connection traced"), "{text}");
        }
    }
    if let Some(text) = output_of("tcptrace", &["-l", "-r", "-n"], kernel) {
        let line = text.lines().find(|l| l.contains("rexmt data pkts")).unwrap();
        let sent: u64 = line.split_ascii_whitespace().last().unwrap().parse().unwrap();
        assert_eq!(sent, report.kernel_retransmissions, "{line}");
    }
}

#[test]
fn it_can_be_interrupted() {
    if !allowed() {
        return;
    }
    let e = download_demo(&options(), &mut |_| ControlFlow::Break(())).unwrap_err();
    assert!(matches!(e, DriveError::Interrupted), "{e}");
}

#[test]
fn a_missing_program_is_an_error_of_one_sentence() {
    if !allowed() {
        return;
    }
    let failed = |options: DemoOptions| {
        download_demo(&options, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string()
    };
    let e = failed(DemoOptions { python: "/no/such/python".into(), ..options() });
    assert!(e.contains("/no/such/python"), "{e}");
    let e = failed(DemoOptions { python: "false".into(), ..options() });
    assert!(e.contains("`false -m http.server` ended"), "{e}");
    let e = failed(DemoOptions { congestion_control: Some("nonsense".into()), ..options() });
    assert!(e.contains("nonsense"), "{e}");
    let e = failed(DemoOptions { captures: Some("/no/such/folder".into()), ..options() });
    assert!(e.contains("/no/such/folder/kernel.pcapng"), "{e}");
    let e = failed(DemoOptions { limit: Time::ZERO, ..options() });
    assert!(e.contains("limit"), "{e}");
}
