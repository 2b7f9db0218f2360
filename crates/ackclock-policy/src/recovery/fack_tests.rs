//! FACK and rate-halving.

use ackclock_units::{Rng, SeqNumber, SeqRange};

use crate::harness::Sender;
use crate::{LossRecovery, Phase, Registry, ScoreboardView};

/// A sender with `n` segments outstanding, numbers chosen so that they wrap.
fn sender(n: u32, params: &[(&str, &str)]) -> Sender {
    of("fack", n, params)
}

fn of(name: &str, n: u32, params: &[(&str, &str)]) -> Sender {
    let mut choice = Registry::builtin().choose::<dyn LossRecovery>(name).expect("built in");
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

/// Segments from `from` on arrive, but for those `lost`; returns what was sent on each SACK, numbered from
/// the first outstanding segment.
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

/// What is in the network by FACK's definition (M-A7); what a timeout has marked lost is not.
fn awnd(s: &Sender) -> u64 {
    let fack = s.board.sacked().last().map_or(s.v.snd_una, |r| r.end);
    let flies = |seg: &&crate::SentSegment| {
        !seg.sacked && !seg.lost && (seg.range.start >= fack || seg.transmissions > 1)
    };
    s.board.outstanding().iter().filter(flies).count() as u64 * 1000
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
fn a_segment_is_sent_for_every_two_acks_and_new_data_before_the_first_retransmission() {
    let mut s = sender(20, HALVING);
    let sent = arrive(&mut s, 1, 20, &[]);
    let want: Vec<Vec<u32>> = (1..20)
        .map(|n| if n % 2 == 1 { vec![] } else { vec![[20, 0, 21, 22, 23, 24, 25, 26, 27][n / 2 - 1]] })
        .collect();
    assert_eq!(sent, want);
    // The window falls with each ack of the round trip, and stays from then on.
    let half = s.v.window;
    assert_eq!((half.cwnd, half.ssthresh), (9000, 9000));
    assert_eq!(arrive(&mut s, 20, 21, &[]), [[28]], "one for one");
    let point = s.v.recovery_point;
    assert_eq!(s.ack(point, &[]), Phase::Open);
    assert_eq!(s.send().len(), 1);
    assert_eq!(s.v.window, half);
}

#[test]
fn without_a_loss_nothing_is_halved() {
    // Reordering below the threshold.
    let mut s = sender(20, HALVING);
    let before = s.v.window;
    assert_eq!(arrive(&mut s, 1, 3, &[]), [vec![], vec![20]]);
    assert_eq!((s.v.phase, s.v.window), (Phase::Disorder, before));
    let to = s.seq(3);
    assert_eq!(s.ack(to, &[]), Phase::Open);
    assert_eq!(s.v.window, before);
    // What was held back may be sent now.
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
fn the_forward_most_sack_begins_recovery() {
    // M-A7: segments 0, 1 and 2 are missing, and one SACK four segments ahead shows it.
    let mut s = sender(10, FACK);
    let una = s.v.snd_una;
    let block = one(&s, 2);
    assert_eq!(s.ack(una, &[block]), Phase::Disorder, "3 MSS are not more than 3 MSS");
    let mut s = sender(10, FACK);
    let block = one(&s, 3);
    assert_eq!(s.ack(una, &[block]), Phase::Recovery);
    assert_eq!(s.marked, [SeqRange::new(una, una + 3000)], "everything below it");
    // With a threshold for each hole none is retransmitted yet.
    let mut s = sender(10, &[]);
    let block = one(&s, 3);
    assert_eq!(s.ack(una, &[block]), Phase::Recovery);
    assert!(s.marked.is_empty());
}

#[test]
fn holes_have_left_the_network_before_they_are_retransmitted() {
    // 0 and 2 are missing. SACKs of 1 and 3 to 5: 2 has three above it with the last of them.
    let mut s = sender(10, &[("limited_transmit", "false")]);
    let una = s.v.snd_una;
    arrive(&mut s, 1, 5, &[2]);
    assert_eq!((s.v.phase, s.v.window.cwnd), (Phase::Recovery, 5000));
    assert_eq!(s.board.next_lost(una), None, "0 was retransmitted, 2 is not eligible");
    // FACK: 5 to 9 and the retransmission of 0; `pipe` would count 2 as well.
    assert_eq!((awnd(&s), s.v.pipe), (6000, 7000));
    let sent = arrive(&mut s, 5, 10, &[]);
    assert_eq!(s.board.lost(), [] as [SeqNumber; 0]);
    assert_eq!(sent, [vec![], vec![2], vec![10], vec![11], vec![12]]);
}

#[test]
fn a_lost_retransmission_is_retransmitted_after_three_segments_sent_later() {
    for (rule, retransmitted) in [("ignore", false), ("resend", true), ("reduce", true)] {
        for adjustment in ["halve", "rate-halving"] {
            let mut s = sender(10, &[("lost_retransmissions", rule), ("adjustment", adjustment)]);
            let una = s.v.snd_una;
            arrive(&mut s, 1, 10, &[]);
            let (high, cwnd) = (s.v.snd_nxt.bytes_since(una) / 1000, s.v.window.cwnd);
            assert_eq!(s.board.segment(una).expect("outstanding").transmissions, 2);
            // Segments sent before the retransmission do not count.
            let then = if adjustment == "halve" { 12 } else { 11 };
            let early = arrive(&mut s, 10, then + 2, &[]);
            assert!(!early.concat().contains(&0), "{rule}, {adjustment}: {early:?}");
            assert_eq!(s.v.window.cwnd, cwnd);
            let later = arrive(&mut s, then + 2, high.max(then + 3) + 3, &[]);
            assert_eq!(later.concat().contains(&0), retransmitted, "{rule}, {adjustment}: {later:?}");
            assert_eq!(s.v.window.cwnd < cwnd, rule == "reduce", "RFC 5681 §4.3: {rule}, {adjustment}");
        }
    }
}

#[test]
fn the_smallest_window_that_recovers_is_three() {
    // M-A8: on the second duplicate a new segment is sent, which elicits the third.
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
    // Every other ack is missing; the next one reports two segments.
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
    assert_eq!(s.v.window.cwnd, 1000, "rate-halving does not continue");
}

#[test]
fn any_losses_of_a_window_bring_it_to_half_of_the_rest() {
    // With every recovery, threshold for holes and rule for lost retransmissions.
    let mut rng = Rng::stream(1, "halving", 0);
    for case in 0..2000 {
        let name = ["fack", "sack"][case % 2];
        let (cwnd, p) = (5 + rng.below(60) as u32, rng.unit() * 0.5);
        let bounds = rng.chance(0.5);
        let mut params = vec![
            ("adjustment", "rate-halving"),
            ("bounds", if bounds { "true" } else { "false" }),
            ("lost_retransmissions", ["ignore", "resend", "reduce"][rng.below(3) as usize]),
        ];
        if name == "fack" {
            params.push(("each_hole", ["false", "true"][rng.below(2) as usize]));
        }
        let mut s = of(name, cwnd, &params);
        let lost: Vec<u32> = std::iter::once(0).chain((1..cwnd - 1).filter(|_| rng.chance(p))).collect();
        let acks = cwnd - lost.len() as u32;
        if acks < 3 {
            continue;
        }
        let sent = arrive(&mut s, 1, cwnd, &lost);
        assert_eq!(s.v.phase, Phase::Recovery, "{params:?}");
        let half = u64::from(acks / 2) * 1000;
        let bounded = half.min(u64::from(cwnd) * 500).max(2000);
        assert_eq!(
            s.v.window.cwnd,
            if bounds { bounded } else { half },
            "{cwnd} with {lost:?} missing: {name} {params:?}"
        );
        for (n, released) in sent.iter().enumerate().take(acks as usize - 1) {
            assert!(
                released.len() <= 1 && (n % 2 == 1 || released.is_empty()),
                "one for every two acks: {sent:?}"
            );
        }
        assert!(lost.len() > 1 || sent.concat()[0] == cwnd, "a new segment first: {sent:?}");
    }
}

#[test]
fn no_more_is_in_the_network_than_the_window_allows() {
    // Losses, reordering, repeated acks and timeouts, with every choice of parameters.
    for case in 0..400 {
        let mut rng = Rng::stream(case, "in flight", 0);
        let name = ["fack", "sack"][rng.below(2) as usize];
        let word = |rng: &mut Rng, words: &[&'static str]| words[rng.below(words.len() as u64) as usize];
        let mut params = vec![
            ("adjustment", word(&mut rng, &["halve", "rate-halving"])),
            ("bounds", word(&mut rng, &["false", "true"])),
            ("lost_retransmissions", word(&mut rng, &["ignore", "resend", "reduce"])),
            ("limited_transmit", "false"),
        ];
        if name == "fack" {
            params.push(("each_hole", word(&mut rng, &["false", "true"])));
        }
        let mut s = of(name, 5 + rng.below(30) as u32, &params);
        let mut spent = false;
        for _ in 0..300 {
            let n = (s.v.flight_size / 1000) as u32;
            let una = s.v.snd_una;
            if rng.chance(0.01) {
                s.expire();
            } else if n > 1 && rng.chance(0.8) {
                let block = one(&s, 1 + rng.below(u64::from(n) - 1) as u32);
                s.ack(una, &[block]);
            } else {
                // The first hole is filled, and what follows it up to the next one.
                let to =
                    s.board.sacked().first().filter(|r| r.start == una + 1000).map_or(una + 1000, |r| r.end);
                s.ack(to.min(s.v.snd_nxt), &[]);
            }
            let allowed = s.v.window.cwnd;
            let sent = s.send().len() as u64 * 1000;
            let left = if name == "fack" { awnd(&s) } else { s.v.pipe };
            // The first retransmission of an episode is sent whatever the window allows, if that is halved at
            // once.
            let beyond = sent > 0 && left > allowed;
            let excused = params[0].1 == "halve" && s.v.phase == Phase::Recovery && sent == 1000 && !spent;
            assert!(
                !beyond || excused,
                "{name} {params:?} sent {sent}: {left} of {allowed} in {:?}",
                s.v.phase
            );
            spent = s.v.phase == Phase::Recovery && (spent || beyond);
        }
    }
}

#[test]
fn an_undone_timeout_keeps_what_was_retransmitted_before_it() {
    for (name, params) in [("sack", &[][..]), ("fack", &[]), ("fack", HALVING), ("sack", HALVING)] {
        let mut s = of(name, 20, params);
        let una = s.v.snd_una;
        let retransmitted = arrive(&mut s, 1, 12, &[5]).concat();
        assert!(
            retransmitted.contains(&0) && s.v.phase == Phase::Recovery,
            "{name} {params:?}: {retransmitted:?}"
        );
        let (board, v) = (s.board.clone(), s.v);
        s.expire();
        s.recovery.on_retransmit(one(&s, 0), &s.v);
        (s.board, s.v) = (board, v);
        s.recovery.on_undo(&s.v);
        for i in 12..20 {
            let block = one(&s, i);
            s.ack(una, &[block]);
            assert!(
                s.marked.iter().all(|r| !r.contains(una)),
                "{name} {params:?} marks it again: {:?}",
                s.marked
            );
            s.send();
        }
        let times = |i: u32| s.board.segment(s.seq(i)).expect("outstanding").transmissions;
        assert_eq!((times(0), times(5)), (2, 2), "{name} {params:?}");
    }
}
