//! Captures of Linux 6.18's own senders, made by `ackclock testbed` and cut to headers.

use std::path::{Path, PathBuf};

use ackclock_capture::CaptureError;
use ackclock_policy::Registry;
use ackclock_shadow::{Conversation, ShadowError, Verdict, default_stacks, name_sender};

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

#[test]
fn a_stack_that_does_not_fit_deviates_at_a_packet() {
    let verdict = verdict("kernel-cubic.pcap.gz");
    let reno = verdict.candidates.iter().find(|c| c.stack == "linux-reno").expect("it is tried");
    assert!(reno.behind > 3.0 && reno.deviates.is_some_and(|d| d.packet > 4), "{reno:?}");
}

#[test]
fn a_timeout_shows_its_minimum() {
    let verdict = verdict("kernel-min-rto-300ms.pcap.gz");
    let found = verdict.min_rto.expect("there was a timeout");
    assert_eq!(found.value.as_millis(), 300, "{found:?}");
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
