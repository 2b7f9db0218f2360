//! A capture of Linux 6.18 (cubic, `tcp_rto_min_us` 100000, no timestamps) with four outages, made by the example
//! `kernel_captures`, and what the kernel's tracepoints say of each retransmission.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, KnownCauses, Options, Report};
use ackclock_policy::Registry;
use ackclock_shadow::{ByStack, Conversation, Why, ask, default_stacks, name_sender};
use ackclock_units::Duration;

fn capture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kernel-causes.pcap.gz")
}

fn analysed(causes: KnownCauses) -> Report {
    let mut packets = Packets::new(open(&capture()).expect("the fixture is there")).expect("it is a capture");
    let mut analysis = Analysis::new(Options { causes: Arc::new(causes), ..Options::default() });
    analysis.read_on(1, &mut packets, |_| ControlFlow::Continue(())).expect("it is whole");
    analysis.finish()
}

/// The packet and what the kernel did, for each retransmission.
fn truth() -> Vec<(u64, Why)> {
    let lines = include_str!("fixtures/kernel-causes.txt").lines();
    let row = |line: &str| {
        let (packet, why) = line.split_once(' ').expect("two words");
        let why = match why {
            "timeout" => Why::Timeout,
            "after-timeout" => Why::AfterTimeout,
            "probe" => Why::Probe,
            "recovery" => Why::Recovery,
            other => panic!("`{other}`: expected a cause"),
        };
        (packet.parse().expect("a number"), why)
    };
    lines.map(row).collect()
}

fn said(report: &Report) -> Vec<(u64, Why)> {
    let rows = report.connections[0].directions[0].retransmissions.iter();
    rows.filter_map(|r| Some((r.frame, Why::of(r.cause)?))).collect()
}

fn asked(report: &Report) -> (KnownCauses, Vec<ByStack>) {
    let stacks = default_stacks(&Registry::builtin()).expect("all are built in");
    ask(&capture(), report, &stacks, |_| true).expect("the file is read again")
}

#[test]
fn the_stack_that_fits_names_every_cause_as_the_kernel_does() {
    let truth = truth();
    let before = analysed(KnownCauses::new());
    let wrong = said(&before).iter().zip(&truth).filter(|(said, real)| said != real).count();
    assert_eq!(wrong, 18, "by acks and silences alone");
    let (causes, by_stack) = asked(&before);
    assert_eq!(by_stack.len(), 1, "one direction has data");
    let found = by_stack[0].found.as_ref().expect("a stack fits");
    assert!(found.stack.starts_with("linux"), "{found:?}");
    assert_eq!((by_stack[0].explained, by_stack[0].changed.len()), (truth.len(), 18));
    let after = analysed(causes);
    assert_eq!(said(&after), truth);
    let rows = &after.connections[0].directions[0].retransmissions;
    assert!(rows.iter().all(|r| r.evidence.contains("sends, ")), "the evidence names the stack");
    let (first, second) = (&before.connections[0].directions[0], &after.connections[0].directions[0]);
    assert_eq!(first.retransmitted_packets, second.retransmitted_packets, "causes change no count");
    assert_eq!(second.timeouts.len(), 4);
}

#[test]
fn connections_that_are_not_wanted_are_not_asked() {
    let report = analysed(KnownCauses::new());
    let stacks = default_stacks(&Registry::builtin()).expect("all are built in");
    let (causes, by_stack) = ask(&capture(), &report, &stacks, |_| false).expect("the file is read again");
    assert!(causes.is_empty() && by_stack.is_empty());
}

#[test]
fn a_minimum_below_the_default_is_seen_where_probes_come_before_the_timeouts() {
    let stacks = default_stacks(&Registry::builtin()).expect("all are built in");
    let conversation = Conversation::read(&capture(), None).expect("the capture is whole");
    let found =
        name_sender(&conversation, &stacks).expect("it is long enough").min_rto.expect("four timeouts");
    // In two of the four the variation was still falling to the minimum, once for each window (`tcp_rtt_estimator`):
    // what it would have been with other minima makes them agree too.
    assert_eq!((found.value.map(Duration::as_millis), found.timeouts), (Some(100), 4), "{found:?}");
    assert_eq!((found.low, found.high), (Duration::from_millis(100), Duration::from_millis(100)));
}

#[test]
fn directions_are_read_together_as_they_are_alone() {
    let alone = Conversation::read(&capture(), None).expect("the capture is whole");
    let ends = (alone.from, alone.to);
    let elsewhere = ("192.0.2.1:1".parse().unwrap(), "192.0.2.2:2".parse().unwrap());
    let both = Conversation::read_each(&capture(), &[elsewhere, ends]).expect("the file is read");
    assert!(both[0].is_err());
    let together = both[1].as_ref().expect("the capture is whole");
    assert_eq!(format!("{:?}", together.events), format!("{:?}", alone.events));
}
