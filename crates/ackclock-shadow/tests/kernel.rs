//! Captures of Linux 6.18's own senders, made by `ackclock testbed` and cut to headers.

use std::path::{Path, PathBuf};

use ackclock_capture::CaptureError;
use ackclock_engine::Stack;
use ackclock_policy::Registry;
use ackclock_shadow::{Conversation, ShadowError, Verdict, default_stacks, follow, name_sender};
use ackclock_units::Duration;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn verdict(name: &str) -> Verdict {
    let conversation = Conversation::read(&fixture(name), None).expect("the capture is whole");
    let stacks = default_stacks(&Registry::builtin()).expect("all are built in");
    name_sender(&conversation, &stacks).expect("it is long enough")
}

#[test]
fn the_kernels_congestion_controls_are_named() {
    for (file, stack) in [
        ("kernel-reno.pcap.gz", "linux-reno"),
        ("kernel-cubic.pcap.gz", "linux"),
        ("kernel-bbr.pcap.gz", "linux-bbr"),
    ] {
        let verdict = verdict(file);
        let (first, second) = (&verdict.candidates[0], &verdict.candidates[1]);
        assert_eq!(first.stack, stack, "{file}: {:?}", verdict.candidates);
        assert!(first.fit > -0.2, "{file}: {first:?}");
        assert!(second.behind > 1.0, "{file}: {second:?}");
        assert_eq!(verdict.initial_segs, Some(10), "{file}");
        assert_eq!(verdict.paces, stack == "linux-bbr", "{file}");
    }
}

/// The first 3000 packets over 40 Mbit/s and 10 ms, with a queue of ten packets: recoveries follow each other without
/// an ack in between, and the acks of what one has retransmitted come in the next.
#[test]
fn recoveries_that_follow_each_other_are_explained() {
    let file = "kernel-bbr-losses.pcap.gz";
    let conversation = Conversation::read(&fixture(file), None).expect("the capture is whole");
    for name in ["linux", "linux-bbr"] {
        let stack = Stack::named(&Registry::builtin(), name).expect("it is a preset");
        let followed = follow(&stack, &conversation);
        assert_eq!(followed.unexplained, 0, "{name}");
        assert!(followed.reasons.len() > 100, "{name}: {}", followed.reasons.len());
    }
    let verdict = verdict(file);
    let first = &verdict.candidates[0];
    assert_eq!(first.stack, "linux-bbr", "{:?}", verdict.candidates);
    assert!(first.fit > -0.2, "its pacing is BBR's, whenever it probes: {first:?}");
    assert!(verdict.candidates[1].behind > 3.0 || verdict.candidates[1].window == "bbr", "{verdict:?}");
}

#[test]
fn a_stack_that_does_not_fit_deviates_at_a_packet() {
    let verdict = verdict("kernel-cubic.pcap.gz");
    let reno = verdict.candidates.iter().find(|c| c.stack == "linux-reno").expect("it is tried");
    assert!(reno.behind > 3.0 && reno.deviates.is_some_and(|d| d.packet > 4), "{reno:?}");
}

#[test]
fn windows_that_no_system_has_by_default_cost_as_much_as_names_a_stack() {
    let verdict = verdict("kernel-cubic.pcap.gz");
    let first = &verdict.candidates[0];
    for c in &verdict.candidates[1..] {
        let likelier = (first.fit - c.fit) * verdict.rounds as f64;
        let rarer =
            if ["vegas", "westwood", "ledbat-pp", "copa"].contains(&c.window.as_str()) { 3.0 } else { 0.0 };
        assert!((c.behind - likelier - rarer).abs() < 1e-6, "{c:?}");
    }
}

#[test]
fn a_timeout_shows_its_minimum() {
    let verdict = verdict("kernel-min-rto-300ms.pcap.gz");
    let found = verdict.min_rto.expect("there was a timeout");
    assert!(found.value.is_none_or(|value| value.as_millis().abs_diff(300) <= 4), "{found:?}");
    assert!(found.high - found.low <= Duration::from_millis(40), "{found:?}");
    assert!(found.low.as_millis() <= 300 && found.high.as_millis() >= 300, "{found:?}");
}

#[test]
fn the_score_is_the_same_each_time() {
    let (once, again) = (verdict("kernel-bbr.pcap.gz"), verdict("kernel-bbr.pcap.gz"));
    let fits = |v: &Verdict| v.candidates.iter().map(|c| c.fit.to_bits()).collect::<Vec<_>>();
    assert_eq!(fits(&once), fits(&again));
}

#[test]
fn what_cannot_be_named_says_why() {
    let of = |name: &str| {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../ackclock-capture/tests/fixtures").join(name);
        Conversation::read(&path, None)
    };
    assert!(matches!(of("kernel-limited-rwnd-receiver.pcap.gz"), Err(ShadowError::NotAtSender { .. })));
    assert!(matches!(of("README.md"), Err(ShadowError::Capture(CaptureError::NotACapture { .. }))));
    let elsewhere = ("192.0.2.1:1".parse().unwrap(), "192.0.2.2:2".parse().unwrap());
    let none = Conversation::read(&fixture("kernel-reno.pcap.gz"), Some(elsewhere));
    assert!(matches!(none, Err(ShadowError::NoData(Some(_)))));
}
