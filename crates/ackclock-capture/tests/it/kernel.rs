//! Captures of the Linux kernel's TCP at its sender, kept as files, with the kernel's own counters
//! (`fixtures/README.md`).

use std::ops::ControlFlow;
use std::path::Path;

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, Cause, Direction, Options, Report, Standing};

fn analyse(name: &str) -> Report {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("kernel-{name}.pcap.gz"));
    let mut packets = Packets::new(open(&path).unwrap()).unwrap();
    let mut analysis = Analysis::new(Options::default());
    assert!(analysis.read(&mut packets, |_| ControlFlow::Continue(())).unwrap());
    analysis.finish()
}

/// The data's direction, after checking it against `RetransSegs`, `TCPTimeouts` and `TCPLossProbes`: those
/// that retransmitted data.
fn counted(report: &Report, retransmitted: u64, timeouts: usize, probes: usize) -> &Direction {
    let [c] = &report.connections[..] else { panic!("{report:?}") };
    let d = &c.directions[0];
    assert_eq!(
        (d.retransmitted_packets, d.timeouts.len(), d.of(Cause::TailLossProbe).count()),
        (retransmitted, timeouts, probes)
    );
    assert_eq!((c.standing, c.opening_seen), (Standing::Closed, true));
    d
}

#[test]
fn a_dialogue_and_an_outage() {
    // A probe, then three expiries that back off from about 200 ms plus the round trip of 30 ms.
    let report = analyse("dialogue-and-an-outage");
    let d = counted(&report, 4, 3, 1);
    assert_eq!(
        d.timeouts.iter().map(|t| (t.round, t.round_certain)).collect::<Vec<_>>(),
        [(1, true), (2, true), (3, true)]
    );
    let waits: Vec<f64> = d.timeouts.iter().map(|t| t.rto.as_secs_f64()).collect();
    assert!(
        (0.2..0.3).contains(&waits[0])
            && (1.8..2.2).contains(&(waits[1] / waits[0]))
            && (1.8..2.2).contains(&(waits[2] / waits[1])),
        "{waits:?}"
    );
}

#[test]
fn a_bulk_transfer_and_an_outage() {
    let report = analyse("bulk-and-an-outage");
    let d = counted(&report, 71, 3, 0);
    assert_eq!(d.timeouts.iter().map(|t| t.round).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(d.timeouts[0].outage, "a whole window was lost");
    assert_eq!((d.ca_events, d.non_ca_events), (0, 1));
}

#[test]
fn heavy_loss() {
    let report = analyse("heavy-loss");
    counted(&report, 28, 1, 0);
}

#[test]
fn lost_tails() {
    let report = analyse("lost-tails");
    let d = counted(&report, 6, 0, 1);
    assert!(d.non_ca_events == 0 && d.ca_events > 0);
}

#[test]
fn a_dialogue_with_loss_of_acks() {
    let report = analyse("dialogue-with-loss-of-acks");
    let d = counted(&report, 4, 0, 4);
    assert!(
        d.retransmissions.iter().all(|r| r.needed == Some(false)),
        "the data had arrived, the acks were lost: {:?}",
        d.retransmissions
    );
}

#[test]
fn a_syn_that_arrives_twice_has_two_replies() {
    // The path made a copy of the SYN; the server counts its second SYN-ACK among `RetransSegs`.
    let report = analyse("doubled-syn");
    let [c] = &report.connections[..] else { panic!("{report:?}") };
    let d = &c.directions[1];
    assert_eq!((d.retransmitted_packets, d.of(Cause::Syn).count(), d.network_duplicates), (2, 1, 0));
}

#[test]
fn frames_of_offload_count_as_their_packets() {
    // SACK blocks of a frame are in each of its packets, and leave less room there.
    let report = analyse("offload");
    let [c] = &report.connections[..] else { panic!("{report:?}") };
    let d = &c.directions[0];
    assert_eq!((d.retransmitted_packets, d.timeouts.len(), d.of(Cause::TailLossProbe).count()), (46, 4, 0));
    assert!(d.retransmissions.len() == 41 && d.super_segments > 20);
}
