use ackclock_units::{SeqNumber, SeqRange};

use crate::harness::Sender;
use crate::{Phase, Registry};

/// A sender with `n` segments outstanding, numbers that wrap, and nothing more to send.
fn sender(name: &str, by: &str, sack: bool, n: u32) -> Sender {
    let mut choice = Registry::builtin().choose::<dyn crate::LossRecovery>(name).expect("built in");
    choice.set("early_retransmit", by).expect("declared");
    let mut s = Sender::with(choice.build(), sack, SeqNumber(0xffff_fa00), n);
    s.v.unsent = 0;
    s
}

/// Duplicate acks until recovery begins; `None` when three do not suffice.
fn duplicates(s: &mut Sender) -> Option<u32> {
    let una = s.v.snd_una;
    (1..4).find(|_| matches!(s.ack(una, &[]), Phase::Recovery | Phase::Loss))
}

#[test]
fn all_but_one_duplicates_are_enough_for_few_segments() {
    // RFC 5827 §3.2: ER_thresh = oseg - 1; §3.1: ceiling(ownd / SMSS) - 1. A single segment elicits no
    // duplicates.
    for name in ["tahoe", "reno", "newreno", "sack", "fack", "rack"] {
        for by in ["segments", "bytes"] {
            for (n, thresh) in [(2, 1), (3, 2), (4, 3), (9, 3)] {
                assert_eq!(
                    duplicates(&mut sender(name, by, false, n)),
                    Some(thresh),
                    "{name} {by}: {n} segments"
                );
            }
        }
        assert_eq!(duplicates(&mut sender(name, "off", false, 3)), Some(3), "{name}");
    }
}

#[test]
fn small_segments_count_as_segments_or_as_bytes() {
    // Three segments of 1000 bytes; the largest that may be sent has 1500. Then they count for two by bytes,
    // and one duplicate is enough.
    for (by, thresh) in [("segments", 2), ("bytes", 1)] {
        let mut s = sender("newreno", by, false, 3);
        s.v.smss = 1500;
        assert_eq!(duplicates(&mut s), Some(thresh), "{by}");
    }
    // Five of them are less than four segments' worth, which byte counting cannot distinguish (§3.1).
    for (by, thresh) in [("segments", 3), ("bytes", 3)] {
        let mut s = sender("newreno", by, false, 5);
        s.v.smss = 1500;
        assert_eq!(duplicates(&mut s), Some(thresh), "{by}");
    }
}

#[test]
fn with_sack_everything_but_one_segment_is_sacked() {
    for name in ["sack", "fack"] {
        for by in ["segments", "bytes"] {
            let mut s = sender(name, by, true, 3);
            let una = s.v.snd_una;
            let sacked = |from: u32, to: u32| SeqRange::new(una + from * 1000, una + to * 1000);
            assert_eq!(
                s.ack(una, &[sacked(2, 3)]),
                Phase::Disorder,
                "{name} {by}: the second is missing as well, as far as is known"
            );
            assert_eq!(s.ack(una, &[sacked(1, 3)]), Phase::Recovery, "{name} {by}");
            assert_eq!(s.send(), [una]);
            let mut s = sender(name, by, true, 2);
            assert_eq!(s.ack(una, &[sacked(1, 2)]), Phase::Recovery, "{name} {by}: one of two");
        }
        let mut s = sender(name, "off", true, 3);
        let una = s.v.snd_una;
        assert_eq!(
            s.ack(una, &[SeqRange::new(una + 1000, una + 3000)]),
            Phase::Disorder,
            "{name}: two segments are not more than two"
        );
    }
}

#[test]
fn new_data_takes_precedence() {
    // Conditions 2.b and 3.b: with something to send and room for it, Limited Transmit elicits more
    // duplicates (RFC 3042).
    for (unsent, rwnd, thresh) in [(1000, 1 << 20, 3), (1000, 3000, 2), (0, 1 << 20, 2)] {
        let mut s = sender("newreno", "segments", false, 3);
        (s.v.unsent, s.v.rwnd) = (unsent, rwnd);
        assert_eq!(duplicates(&mut s), Some(thresh), "{unsent} bytes unsent, {rwnd} of room");
    }
    // What Nagle's algorithm holds back is not ready to be sent.
    for (holds_small, thresh) in [(true, 2), (false, 3)] {
        let mut s = sender("newreno", "segments", false, 3);
        (s.v.unsent, s.v.holds_small) = (700, holds_small);
        assert_eq!(duplicates(&mut s), Some(thresh), "held {holds_small}");
    }
    // The segment that Limited Transmit sends is the fourth: from then on three duplicates are required.
    let mut s = sender("newreno", "segments", false, 3);
    s.v.unsent = 1000;
    let (una, next) = (s.v.snd_una, s.v.snd_nxt);
    s.ack(una, &[]);
    assert_eq!(s.send(), [next]);
    s.ack(una, &[]);
    assert_eq!((s.send(), s.v.phase), (vec![], Phase::Disorder));
    assert_eq!(s.ack(una, &[]), Phase::Recovery);
}

#[test]
fn retransmissions_of_an_earlier_episode_do_not_count() {
    // RFC 6582 §3.2: after a timeout, duplicate acks may be elicited by retransmissions of data that had
    // arrived.
    let mut s = sender("newreno", "segments", false, 3);
    s.expire();
    let point = s.v.recovery_point;
    s.ack(point, &[]);
    s.outstanding(2);
    assert_eq!(duplicates(&mut s), None);
}
