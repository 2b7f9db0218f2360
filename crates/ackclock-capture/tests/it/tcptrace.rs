//! tcptrace on the captures that are kept as files: it finds as many retransmitted packets as the analysis.
//! Skipped if it is not installed.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, Options};

/// The captures, and at which sender each was made: the client or the server. One with offload is left out:
/// tcptrace counts frames.
const CAPTURES: [(&str, usize); 7] = [
    ("both-ends-sender", 0),
    ("bulk-and-an-outage", 0),
    ("dialogue-and-an-outage", 0),
    ("dialogue-with-loss-of-acks", 0),
    ("doubled-syn", 1),
    ("heavy-loss", 0),
    ("lost-tails", 0),
];

/// The number of packets that tcptrace counts as retransmitted, from the client and from the server; `None`
/// if it is not installed.
fn tcptrace(file: &Path) -> Option<[u64; 2]> {
    let done = Command::new("tcptrace").args(["-l", "-r", "-n"]).arg(file).output().ok()?;
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    let line = output.lines().find(|l| l.contains("rexmt data pkts:")).unwrap_or_else(|| panic!("{output}"));
    let counts: Vec<u64> = line.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    Some(counts.try_into().unwrap_or_else(|_| panic!("{line}")))
}

/// tcptrace reads plain pcap.
fn unpacked(capture: &Path, name: &str) -> PathBuf {
    let mut bytes = Vec::new();
    std::io::copy(&mut open(capture).unwrap(), &mut bytes).unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    std::fs::write(&file, bytes).unwrap();
    file
}

#[test]
fn as_many_retransmitted_packets_as_tcptrace_finds() {
    for (name, side) in CAPTURES {
        let capture = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures")
            .join(format!("kernel-{name}.pcap.gz"));
        let Some(theirs) = tcptrace(&unpacked(&capture, name)) else {
            eprintln!("skipped: tcptrace is not installed");
            return;
        };
        let mut analysis = Analysis::new(Options::default());
        assert!(
            analysis
                .read(&mut Packets::new(open(&capture).unwrap()).unwrap(), |_| ControlFlow::Continue(()))
                .unwrap()
        );
        let report = analysis.finish();
        let [c] = &report.connections[..] else { panic!("{name}: {report:?}") };
        assert_eq!(c.directions[side].retransmitted_packets, theirs[side], "{name}");
    }
}
