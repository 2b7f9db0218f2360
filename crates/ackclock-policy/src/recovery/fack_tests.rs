//! FACK and rate-halving, by tables and by hand.

use ackclock_units::{SeqNumber, SeqRange};

use crate::harness::Sender;
use crate::{Phase, Registry, Scoreboard};

/// A sender with `n` segments outstanding, numbers chosen so that they wrap.
fn sender(n: u32, params: &[(&str, &str)]) -> Sender {
    let mut choice = Registry::builtin().choose::<dyn crate::LossRecovery>("fack").expect("built in");
    for (param, value) in params {
        choice.set(param, value).expect("declared");
    }
    Sender::with(choice.build(), true, SeqNumber(0xffff_f000), n)
}

const HALVING: &[(&str, &str)] = &[("adjustment", "rate-halving")];
const UNBOUNDED: &[(&str, &str)] = &[("adjustment", "rate-halving"), ("bounds", "false")];
/// M-A7 alone.
const FACK: &[(&str, &str)] = &[("each_hole", "false"), ("lost_retransmissions", "ignore")];

fn one(s: &Sender, i: u32) -> SeqRange {
    SeqRange::new(s.seq(i), s.seq(i + 1))
}

/// Segments from `from` on arrive, but for those `lost`; what each SACK released, numbered from the first outstanding one.
fn arrive(s: &mut Sender, from: u32, to: u32, lost: &[u32]) -> Vec<Vec<u32>> {
    let una = s.v.snd_una;
    let sacks: Vec<u32> = (from..to).filter(|i| !lost.contains(i)).collect();
    sacks
        .into_iter()
        .map(|i| {
            let block = one(s, i);
            s.ack(una, &[block]);
            s.send().into_iter().map(|seq| seq.bytes_since(una) / 1000).collect()
        })
        .collect()
}

/// What is in the network by FACK's definition (M-A7).
fn awnd(s: &Sender) -> u64 {
    let fack = s.board.sacked().last().map_or(s.v.snd_una, |r| r.end);
    let resent = s.board.outstanding().iter().filter(|seg| seg.transmissions > 1 && !seg.sacked).count() as u64 * 1000;
    u64::from(s.v.snd_nxt.bytes_since(fack)) + resent
}

#[test]
fn rate_halving_ends_at_half_of_what_arrived() {
    // M-E15
    for (cwnd, loss, new) in [(20, 1, 9), (20, 4, 8), (21, 1, 10), (10, 5, 2), (4, 1, 1)] {
        let mut s = sender(cwnd, UNBOUNDED);
        let lost: Vec<u32> = (0..loss).collect();
        arrive(&mut s, 0, cwnd, &lost);
        assert_eq!(s.v.phase, Phase::Recovery, "({cwnd}, {loss})");
        assert_eq!(s.v.window.cwnd, new * 1000, "({cwnd}, {loss})");
        assert_eq!(awnd(&s), new * 1000, "as much is in flight: ({cwnd}, {loss})");
        let mut s = sender(cwnd, HALVING);
        arrive(&mut s, 0, cwnd, &lost);
        assert_eq!(s.v.window.cwnd, new.clamp(2, u64::from(cwnd) / 2) * 1000, "M-A11: ({cwnd}, {loss})");
    }
}

#[test]
fn without_rounding_half_a_segment_is_left() {
    let mut s = sender(20, &[("adjustment", "rate-halving"), ("whole_segs", "false")]);
    arrive(&mut s, 1, 20, &[]);
    assert_eq!(s.v.window.cwnd, 9500);
}

#[test]
fn a_segment_leaves_for_every_two_acks_and_a_new_one_before_the_first_retransmission() {
    let mut s = sender(20, HALVING);
    let sent = arrive(&mut s, 1, 20, &[]);
    let want: Vec<Vec<u32>> = (1..20).map(|n| if n % 2 == 1 { vec![] } else { vec![[20, 0, 21, 22, 23, 24, 25, 26, 27][n / 2 - 1]] }).collect();
    assert_eq!(sent, want);
    // The window is what the acks have left of it at every moment of the round trip, and stays from then on.
    let half = s.v.window;
    assert_eq!((half.cwnd, half.ssthresh), (9000, 9000));
    assert_eq!(arrive(&mut s, 20, 21, &[]), [[28]], "one for one");
    let point = s.v.recovery_point;
    assert_eq!(s.ack(point, &[]), Phase::Open);
    assert_eq!(s.send().len(), 1);
    assert_eq!(s.v.window, half);
}

#[test]
fn nothing_lost_nothing_halved() {
    // Reordering below the threshold.
    let mut s = sender(20, HALVING);
    let before = s.v.window;
    assert_eq!(arrive(&mut s, 1, 3, &[]), [vec![], vec![20]]);
    assert_eq!((s.v.phase, s.v.window), (Phase::Disorder, before));
    let to = s.seq(3);
    assert_eq!(s.ack(to, &[]), Phase::Open);
    assert_eq!(s.v.window, before);
    // What was held back may go now.
    s.send();
    assert_eq!(s.v.flight_size, before.cwnd.min(s.v.flight_size));
}

#[test]
fn reordering_that_goes_on_halves_once_per_hole() {
    // Each pair of segments changes places: a duplicate, then an ack of two.
    let mut s = sender(20, HALVING);
    for _ in 0..100 {
        let (una, block) = (s.v.snd_una, one(&s, 1));
        s.ack(una, &[block]);
        s.send();
        s.ack(una + 2000, &[]);
        s.v.phase = Phase::Disorder;
        s.send();
        s.v.phase = Phase::Open;
    }
    assert_eq!((s.v.window.cwnd, s.v.flight_size), (20_000, 20_000));
}

#[test]
fn the_forward_most_sack_opens_recovery() {
    // M-A7: segments 0, 1 and 2 are missing, and one SACK four segments ahead tells.
    let mut s = sender(10, FACK);
    let una = s.v.snd_una;
    let block = one(&s, 2);
    assert_eq!(s.ack(una, &[block]), Phase::Disorder, "3 MSS are not more than 3 MSS");
    let mut s = sender(10, FACK);
    let block = one(&s, 3);
    assert_eq!(s.ack(una, &[block]), Phase::Recovery);
    assert_eq!(s.marked, [SeqRange::new(una, una + 3000)], "everything below it");
    // With a threshold for each hole none is resent yet.
    let mut s = sender(10, &[]);
    let block = one(&s, 3);
    assert_eq!(s.ack(una, &[block]), Phase::Recovery);
    assert!(s.marked.is_empty());
}

#[test]
fn holes_count_as_gone_before_they_are_resent() {
    // 0 and 2 are missing. SACKs of 1 and 3 to 5: 2 has three above it with the last of them.
    let mut s = sender(10, &[("limited_transmit", "false")]);
    let una = s.v.snd_una;
    arrive(&mut s, 1, 5, &[2]);
    assert_eq!((s.v.phase, s.v.window.cwnd), (Phase::Recovery, 5000));
    assert_eq!(s.board.next_lost(una), None, "0 was resent, 2 is not eligible");
    // FACK: 5 to 9 and the retransmission of 0; `pipe` would count 2 as well.
    assert_eq!((awnd(&s), s.v.pipe), (6000, 7000));
    let sent = arrive(&mut s, 5, 10, &[]);
    assert_eq!(s.board.lost(), [] as [SeqNumber; 0]);
    assert_eq!(sent, [vec![], vec![2], vec![10], vec![11], vec![12]]);
}

#[test]
fn a_lost_retransmission_is_resent_after_three_segments_sent_later() {
    for (rule, resent) in [("ignore", false), ("resend", true), ("reduce", true)] {
        for adjustment in ["halve", "rate-halving"] {
            let mut s = sender(10, &[("lost_retransmissions", rule), ("adjustment", adjustment)]);
            let una = s.v.snd_una;
            arrive(&mut s, 1, 10, &[]);
            let (high, cwnd) = (s.v.snd_nxt.bytes_since(una) / 1000, s.v.window.cwnd);
            assert_eq!(s.board.segment(una).expect("outstanding").transmissions, 2);
            // What was sent before the retransmission tells nothing.
            let then = if adjustment == "halve" { 12 } else { 11 };
            let early = arrive(&mut s, 10, then + 2, &[]);
            assert!(!early.concat().contains(&0), "{rule}, {adjustment}: {early:?}");
            assert_eq!(s.v.window.cwnd, cwnd);
            let later = arrive(&mut s, then + 2, high.max(then + 3) + 3, &[]);
            assert_eq!(later.concat().contains(&0), resent, "{rule}, {adjustment}: {later:?}");
            assert_eq!(s.v.window.cwnd < cwnd, rule == "reduce", "RFC 5681 §4.3: {rule}, {adjustment}");
        }
    }
}

#[test]
fn the_smallest_window_that_recovers_is_three() {
    // M-A8: the second duplicate releases a new segment, whose ack is the third.
    for n in [2, 3] {
        let mut s = sender(n, HALVING);
        let mut arrived = 1;
        for _ in 0..10 {
            let outstanding = s.v.snd_nxt.bytes_since(s.v.snd_una) / 1000;
            arrive(&mut s, arrived, outstanding, &[]);
            arrived = outstanding;
        }
        let first = s.board.segment(s.v.snd_una).expect("outstanding");
        assert_eq!(first.transmissions > 1, n == 3, "{n} segments");
    }
}

#[test]
fn superfluous_acks_leave_no_more_than_half() {
    // M-A11: a receiver that repeats every ack.
    for (bounds, window) in [("true", 10_000), ("false", 18_000)] {
        let mut s = sender(20, &[("adjustment", "rate-halving"), ("bounds", bounds)]);
        let una = s.v.snd_una;
        for i in 1..20 {
            let block = one(&s, i);
            for _ in 0..2 {
                s.ack(una, &[block]);
                s.send();
                assert!(awnd(&s) <= 20_000);
            }
        }
        assert_eq!(s.v.window.cwnd / 1000 * 1000, window, "bounds {bounds}");
    }
}

#[test]
fn lost_acks_do_not_count_as_lost_segments() {
    // Every other ack is missing; the next one tells of two segments.
    let mut s = sender(20, UNBOUNDED);
    let una = s.v.snd_una;
    for i in (1..20).step_by(2) {
        let block = SeqRange::new(s.seq(1), s.seq(i + 1));
        s.ack(una, &[block]);
        s.send();
    }
    assert_eq!(s.v.window.cwnd, 9000);
}

#[test]
fn an_echo_has_halved_the_window_already() {
    let mut s = sender(20, HALVING);
    s.v.phase = Phase::Cwr;
    s.v.recovery_point = s.v.snd_nxt;
    s.v.window.cwnd = 10_000;
    let sent = arrive(&mut s, 1, 20, &[]);
    assert_eq!(s.v.phase, Phase::Recovery);
    assert!(sent.concat().len() >= 9 && s.v.window.cwnd >= 9000, "{sent:?} {:?}", s.v.window);
}

#[test]
fn a_timeout_ends_the_round_trip() {
    let mut s = sender(20, HALVING);
    arrive(&mut s, 1, 8, &[]);
    s.expire();
    assert_eq!((s.v.phase, s.v.window.cwnd), (Phase::Loss, 1000));
    let to = s.seq(8);
    assert_eq!(s.ack(to, &[]), Phase::Loss);
    assert_eq!(s.v.window.cwnd, 1000, "what was left of the halving does not come back");
}
