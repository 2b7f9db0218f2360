//! How far segments come late, which Linux measures (`tcp_check_sack_reordering`).

use ackclock_units::{Duration, SeqNumber, SeqRange};

use crate::harness::Sender;
use crate::{LossRecovery, Registry};

const RTT: Duration = Duration::from_millis(100);

/// Ten segments were sent a round trip ago.
fn sender(linux: &str) -> Sender {
    let mut choice = Registry::builtin().choose::<dyn LossRecovery>("rack").expect("built in");
    choice.set("linux", linux).expect("declared");
    let mut s = Sender::with(choice.build(), true, SeqNumber(0xffff_f000), 0);
    s.v.window.cwnd = 10_000;
    s.v.unsent = 10_000;
    s.wait(Duration::from_millis(1), RTT);
    assert_eq!(s.send().len(), 10);
    s.wait(RTT, RTT);
    s
}

fn sack(s: &mut Sender, from: u32, to: u32) -> bool {
    let (una, block) = (s.v.snd_una, SeqRange::new(s.seq(from), s.seq(to)));
    s.ack(una, &[block]);
    s.recovery.grows_out_of_order()
}

#[test]
fn more_than_three_segments_behind_is_far() {
    for (late, far) in [(7, false), (6, true), (0, true)] {
        let mut s = sender("true");
        assert!(!sack(&mut s, 9, 10), "nothing has come late yet");
        assert_eq!(sack(&mut s, late, late + 1), far, "segment {late} after segment 9");
    }
}

#[test]
fn what_one_ack_reports_has_come_in_order() {
    let mut s = sender("true");
    assert!(!sack(&mut s, 2, 10));
}

#[test]
fn an_ack_of_what_was_missing_counts_as_well() {
    let mut s = sender("true");
    sack(&mut s, 4, 10);
    let to = s.seq(10);
    s.ack(to, &[]);
    assert!(s.recovery.grows_out_of_order());
}

#[test]
fn rfc_8985_measures_no_distance() {
    let mut s = sender("false");
    sack(&mut s, 9, 10);
    assert!(!sack(&mut s, 0, 1));
}

#[test]
fn a_timeout_while_three_are_sacked_forgets_it() {
    for (sacked, far) in [(2, true), (3, false)] {
        let mut s = sender("true");
        sack(&mut s, 9, 10);
        sack(&mut s, 5, 6);
        let to = s.seq(10);
        s.ack(to, &[]);
        assert!(s.recovery.grows_out_of_order());
        s.v.unsent = 10_000;
        s.wait(Duration::from_millis(1), RTT);
        assert!(s.send().len() >= 5);
        sack(&mut s, 1, 1 + sacked);
        s.expire();
        assert_eq!(s.recovery.grows_out_of_order(), far, "{sacked} segments are SACKed");
    }
}
