//! RFC 8985 section by section, over a sender reduced to loss recovery.

use ackclock_units::{Duration, SeqNumber, SeqRange};

use crate::harness::Sender;
use crate::{Phase, Registry, ScoreboardView};

const RTT: Duration = Duration::from_millis(100);
const MS: Duration = Duration::from_millis(1);

fn choose(params: &[(&str, &str)]) -> Box<dyn crate::LossRecovery> {
    let mut choice = Registry::builtin().choose::<dyn crate::LossRecovery>("rack").expect("built in");
    for (param, value) in params {
        choice.set(param, value).expect("declared");
    }
    choice.build()
}

/// Ten segments are outstanding, sent a millisecond apart, a hundred milliseconds before now; numbers that
/// wrap.
fn sender(params: &[(&str, &str)]) -> Sender {
    let mut s = Sender::with(choose(params), true, SeqNumber(0xffff_f000), 0);
    s.v.window.cwnd = 10_000;
    for n in 1..=10 {
        s.v.unsent = 1000;
        s.wait(MS, RTT);
        assert_eq!(s.send().len(), 1, "segment {n}");
    }
    s.wait(RTT - MS * 9, RTT);
    s
}

fn segs(s: &Sender, from: u32, to: u32) -> SeqRange {
    SeqRange::new(s.seq(from), s.seq(to))
}

/// SACKs segments, numbered from the first outstanding one; returns what was marked lost.
fn sack(s: &mut Sender, from: u32, to: u32) -> Vec<SeqRange> {
    let (una, block) = (s.v.snd_una, segs(s, from, to));
    s.ack(una, &[block]);
    s.marked.clone()
}

/// The deadline, from now on.
fn in_time(s: &Sender) -> Option<Duration> {
    s.recovery.deadline().map(|at| at.since(s.v.now))
}

// §6.2

#[test]
fn a_segment_is_lost_when_a_later_one_arrived_and_the_reordering_window_has_passed() {
    let mut s = sender(&[]);
    s.wait(MS, RTT);
    // Step 5: the second arrives after a round trip. The first was sent a millisecond before it and has the
    // window, a quarter of a round trip, left.
    assert_eq!(sack(&mut s, 1, 2), []);
    assert_eq!((s.v.phase, in_time(&s)), (Phase::Disorder, Some(RTT / 4 - MS)));
    let first = s.v.snd_una;
    s.wait(RTT, RTT);
    let sent = s.reach_deadline().expect("a reordering timer");
    assert_eq!((s.v.phase, sent[0], s.recovery.deadline()), (Phase::Recovery, first, None));
}

#[test]
fn what_arrives_within_the_reordering_window_was_not_lost() {
    let mut s = sender(&[]);
    sack(&mut s, 1, 3);
    let to = s.seq(3);
    s.wait(MS * 20, RTT);
    s.ack(to, &[]);
    assert_eq!((s.v.phase, s.board.lost().len()), (Phase::Open, 0));
    // Step 3: from then on reordering is known, and three SACKs do not close the window (step 4).
    assert_eq!(sack(&mut s, 1, 5), []);
    assert!(s.v.phase == Phase::Disorder && in_time(&s).is_some());
}

#[test]
fn the_round_trip_time_is_that_of_what_was_delivered_last() {
    let mut s = sender(&[]);
    s.wait(MS * 2, RTT);
    sack(&mut s, 2, 3);
    s.wait(MS * 10, RTT);
    // Step 2: the second, sent a millisecond before the third, arrives 10 ms after it: RACK.rtt = 112 - 1 ms,
    // more than the 100 ms of the third. Step 5: the first waits until 111 + 25 ms after it was sent.
    assert_eq!(sack(&mut s, 1, 2), []);
    assert_eq!(in_time(&s), Some(MS * (111 + 25 - 112)));
}

#[test]
fn without_reordering_three_sacked_segments_close_the_window() {
    // Step 4: RACK.segs_sacked >= DupThresh, before any reordering was seen.
    for (dup_thresh, sacked, phase) in [
        ("3", 2, Phase::Disorder),
        ("3", 3, Phase::Recovery),
        ("2", 2, Phase::Recovery),
        ("9", 5, Phase::Disorder),
    ] {
        let mut s = sender(&[("dup_thresh", dup_thresh)]);
        s.wait(MS * 5, RTT);
        sack(&mut s, 1, 1 + sacked);
        assert_eq!(s.v.phase, phase, "{sacked} of {dup_thresh}");
    }
    // In recovery it stays closed: the fifth is lost at the first sign.
    let mut s = sender(&[]);
    s.wait(MS * 8, RTT);
    sack(&mut s, 1, 5);
    let fifth = s.seq(5);
    assert_eq!(sack(&mut s, 6, 7), [SeqRange::new(fifth, fifth + 1000)]);
}

#[test]
fn only_what_was_sent_before_the_latest_delivered_is_lost() {
    // Segments that were sent later are not marked, however old; of segments sent at one moment, those with
    // higher numbers (RACK_sent_after()).
    let mut s = Sender::with(choose(&[]), true, SeqNumber(7), 10);
    s.wait(RTT * 3, RTT);
    sack(&mut s, 2, 5);
    assert_eq!(s.marked, [segs(&s, 0, 2)]);
}

#[test]
fn the_timer_waits_for_the_last_that_may_still_arrive() {
    // Step 5: timeout = max(remaining, timeout). One deadline serves all.
    let mut s = sender(&[]);
    s.v.unsent = 0;
    s.wait(MS * 6, RTT);
    s.ack(s.v.snd_una, &[segs(&s, 6, 7), segs(&s, 1, 2)]);
    assert_eq!(in_time(&s), Some(RTT / 4 - MS), "that of the sixth, sent a millisecond before the latest");
    s.reach_deadline();
    let lost: u32 = s.marked.iter().map(|range| range.len()).sum();
    assert_eq!((lost, s.v.phase), (5000, Phase::Recovery));
}

#[test]
fn a_lost_retransmission_is_lost_as_any_other_segment() {
    repair_a_lost_retransmission(|_, _| {});
}

#[test]
fn a_lost_retransmission_is_found_although_the_scoreboard_has_moved_its_time() {
    repair_a_lost_retransmission(|s, first| s.board.move_time(first, s.v.now + MS));
}

/// Segment 0 is retransmitted, which is lost too. `then` is called when it has left.
fn repair_a_lost_retransmission(then: impl Fn(&mut Sender, SeqNumber)) {
    let mut s = sender(&[]);
    s.v.unsent = 0;
    s.wait(MS * 9, RTT);
    let first = s.v.snd_una;
    sack(&mut s, 1, 9);
    assert_eq!(s.send(), [first]);
    then(&mut s, first);
    // New data sent after the retransmission arrives, and that does not.
    s.v.unsent = 2000;
    s.v.window.cwnd = 20_000;
    s.wait(MS * 2, RTT);
    assert_eq!(s.send().len(), 2);
    s.wait(RTT, RTT);
    assert_eq!(
        sack(&mut s, 10, 11),
        [SeqRange::new(first, first + 1000), SeqRange::new(first + 9000, first + 10_000)]
    );
    assert_eq!(s.v.phase, Phase::Recovery);
    assert_eq!(s.send()[0], first);
}

#[test]
fn an_ack_too_soon_for_a_retransmission_was_elicited_by_the_original() {
    // Step 2. The retransmission of the first is acknowledged a millisecond after it was sent, or with a
    // timestamp from before. If it counted for the retransmission, everything that was sent before that would
    // be lost.
    let run = |after: Duration, old_timestamp: bool| {
        let mut s = sender(&[("dup_thresh", "2")]);
        s.v.unsent = 0;
        let before = s.v.now;
        s.wait(MS * 3, RTT);
        sack(&mut s, 1, 3);
        assert_eq!(s.send().len(), 1);
        s.wait(after, RTT);
        s.echoed = old_timestamp.then_some(before);
        let to = s.seq(3);
        s.ack(to, &[]);
        s.board.lost().len()
    };
    assert_eq!(run(MS, false), 0);
    assert_eq!(run(RTT * 2, true), 0);
    assert_eq!(run(RTT * 2, false), 7, "what was sent before the retransmission and is still missing");
}

#[test]
fn dsacks_widen_the_window_once_per_round_trip() {
    // Step 4: a quarter more for each round trip with a DSACK, at most a smoothed round-trip time, and back
    // to one after sixteen recoveries without.
    let mut s = sender(&[("reo_wnd_persist", "2")]);
    s.wait(MS * 9, RTT);
    let to = s.v.snd_nxt;
    s.ack(to, &[]);
    let window = |s: &mut Sender| {
        // A hole, and a later segment that arrives in time.
        s.v.window.cwnd = 30_000;
        s.v.phase = Phase::Open;
        s.v.unsent = 30_000;
        s.wait(RTT, RTT);
        let to = s.v.snd_nxt;
        s.ack(to, &[]);
        s.send();
        s.wait(RTT, RTT);
        sack(s, 1, 2);
        let width = in_time(s);
        s.wait(MS, RTT);
        let to = s.v.snd_nxt;
        s.ack(to, &[]);
        width
    };
    assert_eq!(window(&mut s), Some(RTT / 4));
    let dsack = |s: &mut Sender| {
        let una = s.v.snd_una;
        s.dsack = Some(SeqRange::new(una - 1000, una));
        s.ack(una, &[]);
    };
    s.v.unsent = 1000;
    s.send();
    dsack(&mut s);
    dsack(&mut s);
    assert_eq!(window(&mut s), Some(RTT / 2), "two in one round trip count once");
    for quarters in [3, 4, 4, 4] {
        s.v.unsent = 1000;
        s.send();
        dsack(&mut s);
        assert_eq!(window(&mut s), Some(RTT / 4 * quarters));
    }
    let recover = |s: &mut Sender| {
        s.v.unsent = 10_000;
        s.v.window.cwnd = 10_000;
        s.send();
        s.wait(RTT, RTT);
        sack(s, 1, 9);
        s.reach_deadline();
        assert_eq!(s.v.phase, Phase::Recovery);
        let to = s.v.snd_nxt;
        s.ack(to, &[]);
    };
    recover(&mut s);
    assert_eq!(window(&mut s), Some(RTT));
    recover(&mut s);
    assert_eq!(window(&mut s), Some(RTT / 4));
}

/// What Linux takes for reordering besides, as scripts against the kernel show.
#[test]
fn linux_sees_reordering_in_a_late_copy_and_in_the_original_of_a_part() {
    let seen = |s: &Sender| {
        let mut state = crate::PrivateState::default();
        s.recovery.private_state(&mut state);
        state.0.iter().any(|(name, value)| *name == "reordering_seen" && *value > 0.0)
    };
    for linux in ["false", "true"] {
        let repairing = || {
            let mut s = sender(&[("linux", linux)]);
            s.wait(MS * 9, RTT);
            let (una, blocks) = (s.v.snd_una, [segs(&s, 1, 3), segs(&s, 4, 10)]);
            s.ack(una, &blocks);
            s.v.window.cwnd = 30_000;
            assert_eq!(s.send().len(), 2, "both holes are repaired");
            assert!(s.v.phase == Phase::Recovery && !seen(&s));
            s.wait(MS * 20, RTT);
            s
        };
        // The fourth arrives, and then its copy.
        let mut s = repairing();
        let (una, block, copy) = (s.v.snd_una, segs(&s, 1, 10), segs(&s, 3, 4));
        s.ack(una, &[block]);
        assert!(!seen(&s));
        s.dsack = Some(copy);
        s.ack(una, &[block]);
        assert_eq!(seen(&s), linux == "true");
        // The first arrives: the ack of a part echoes what was sent first, or the copy.
        for original in [true, false] {
            let mut s = repairing();
            let at = s.v.now.saturating_sub(if original { RTT } else { MS * 20 });
            s.echoed = Some(at);
            let (to, block) = (s.seq(3), segs(&s, 4, 10));
            s.ack(to, &[block]);
            assert_eq!(seen(&s), original && linux == "true", "{original} {linux}");
        }
    }
}

#[test]
fn an_episode_right_after_another_begins_with_the_same_ack() {
    let mut s = sender(&[]);
    s.wait(MS * 9, RTT);
    sack(&mut s, 1, 9);
    let point = s.v.recovery_point;
    s.v.unsent = 5000;
    s.v.window.cwnd = 30_000;
    s.send();
    s.wait(RTT * 2, RTT);
    // What was outstanding is repaired, and of what was sent since the first is missing.
    let blocks = [SeqRange::new(point + 1000, point + 5000)];
    let (before, to) = (s.v.window.cwnd, s.v.snd_nxt);
    assert_eq!(s.ack(point, &blocks), Phase::Recovery);
    assert!(s.v.recovery_point == to && s.v.window.cwnd < before, "{:?}", s.v);
    // Nothing else is sent before the retransmission.
    s.v.unsent = 5000;
    assert_eq!(s.send()[0], point);
}

// §6.3

#[test]
fn a_timeout_does_not_mark_what_was_sent_recently() {
    let mut s = sender(&[]);
    // An ack, so that a round trip is known; then new data, just before the timer expires.
    let to = s.seq(1);
    s.ack(to, &[]);
    s.wait(RTT * 5, RTT);
    s.v.unsent = 1000;
    s.v.window.cwnd = 11_000;
    assert_eq!(s.send().len(), 1);
    s.wait(MS, RTT);
    s.expire();
    assert_eq!(s.board.lost().len(), 9, "the last of ten was sent a millisecond ago");
    // The first is retransmitted whatever counts as in the network (RFC 6298 §5.4).
    s.v.window.cwnd = 500;
    let first = s.v.snd_una;
    assert_eq!(s.send(), [first]);
    // Without any ack, everything is lost.
    let mut s = Sender::with(choose(&[]), true, SeqNumber(7), 10);
    s.expire();
    assert_eq!(s.board.lost().len(), 10);
}

/// RFC 5681 §4.3: another sign of congestion. RFC 8985 leaves open what it is in the repair after a timeout.
#[test]
fn a_retransmission_lost_after_a_timeout_begins_a_recovery_of_linux() {
    for (linux, phase) in [("false", Phase::Loss), ("true", Phase::Recovery)] {
        let mut s = sender(&[("linux", linux)]);
        s.wait(RTT * 5, RTT);
        s.expire();
        (s.v.window.cwnd, s.v.unsent) = (2000, 1000);
        let first = s.v.snd_una;
        assert_eq!(s.send(), [first, s.seq(1)]);
        // The second is delivered, and a round trip later the first is still missing: it was sent before.
        s.wait(RTT, RTT);
        let second = segs(&s, 1, 2);
        assert_eq!(s.ack(first, &[second]), phase, "{linux}");
        assert!(s.board.lost().contains(&first));
    }
}

// §7

#[test]
fn the_probe_waits_for_two_round_trips() {
    // §7.2, TLP_calc_PTO()
    let mut s = sender(&[]);
    let (to, last) = (s.seq(2), s.seq(9));
    s.ack(to, &[]);
    assert_eq!(in_time(&s), Some(RTT * 2));
    s.v.rto_deadline = Some(s.v.now + RTT);
    let to = s.seq(1);
    s.ack(to, &[]);
    assert_eq!(in_time(&s), Some(RTT), "not later than the retransmission timer");
    s.v.rto_deadline = None;
    s.ack(last, &[]);
    assert_eq!(in_time(&s), Some(RTT * 2 + MS * 200), "the ack of a single segment may be delayed");
    let to = s.v.snd_nxt;
    s.ack(to, &[]);
    assert_eq!(in_time(&s), None, "nothing is outstanding");
    let mut s = sender(&[("tlp", "false")]);
    let to = s.seq(2);
    s.ack(to, &[]);
    assert_eq!(in_time(&s), None);
}

#[test]
fn there_is_no_probe_with_sacked_data_or_during_a_repair() {
    // §7.2: not in fast recovery, not in RTO recovery, not while something is SACKed.
    let mut s = sender(&[]);
    let to = s.seq(2);
    s.ack(to, &[]);
    s.wait(RTT, RTT);
    sack(&mut s, 1, 8);
    assert_eq!((s.v.phase, in_time(&s)), (Phase::Recovery, None));
    let mut s = sender(&[]);
    let to = s.seq(2);
    s.ack(to, &[]);
    s.expire();
    assert_eq!(in_time(&s), None);
    let to = s.seq(1);
    s.ack(to, &[]);
    assert_eq!((s.v.phase, in_time(&s)), (Phase::Loss, None));
}

/// A sender with nothing more to send, which has sent the probe.
fn probed(params: &[(&str, &str)]) -> Sender {
    let mut s = sender(params);
    let to = s.seq(2);
    s.ack(to, &[]);
    s.v.unsent = 0;
    let last = s.v.snd_nxt - 1000;
    assert_eq!(s.reach_deadline(), Some(vec![last]), "the last segment");
    assert_eq!(s.v.phase, Phase::Open);
    s
}

#[test]
fn the_probe_is_new_data_or_the_last_segment() {
    // §7.3, TLP_send_probe(): sent whatever the window allows.
    let mut s = sender(&[]);
    let to = s.seq(2);
    s.ack(to, &[]);
    s.v.window.cwnd = 1000;
    s.v.unsent = 5000;
    let next = s.v.snd_nxt;
    assert_eq!(s.reach_deadline(), Some(vec![next]));
    // When it arrives, that is all (§7.4.2: "TLP of new data delivered").
    s.wait(RTT, RTT);
    let to = s.v.snd_nxt;
    s.ack(to, &[]);
    assert_eq!((s.repaired, s.v.phase), (None, Phase::Open));
    // The receiver has no room.
    let mut s = sender(&[]);
    let to = s.seq(2);
    s.ack(to, &[]);
    (s.v.unsent, s.v.rwnd) = (5000, 8000);
    let last = s.v.snd_nxt - 1000;
    assert_eq!(s.reach_deadline(), Some(vec![last]));
}

#[test]
fn a_tail_is_probed_once() {
    let mut s = probed(&[]);
    assert_eq!(s.recovery.deadline(), None);
    // An ack of data below the probe: it is still pending.
    let to = s.seq(1);
    s.ack(to, &[]);
    assert_eq!(s.recovery.deadline(), None);
    // §7.3: after that, a round-trip time must have been measured. That ack was of a segment sent once.
    let to = s.v.snd_nxt;
    s.dsack = Some(SeqRange::new(to - 1000, to));
    s.ack(to, &[]);
    s.v.unsent = 1000;
    s.send();
    assert!(s.recovery.deadline().is_some());
    // Here the ack was of the probe alone.
    let mut s = probed(&[]);
    let to = s.v.snd_nxt - 1000;
    s.ack(to, &[]);
    s.reach_deadline();
    let mut s = probed(&[]);
    s.board.outstanding().iter().for_each(|segment| assert!(segment.transmissions <= 2));
    s.v.unsent = 1000;
    s.send();
    assert_eq!(s.recovery.deadline(), None);
}

#[test]
fn the_sack_of_the_probe_shows_the_rest_of_the_tail() {
    // §7.4.1
    let mut s = probed(&[]);
    s.wait(RTT, RTT);
    let una = s.v.snd_una;
    assert_eq!(sack(&mut s, 7, 8), [SeqRange::new(una, una + 7000)]);
    assert_eq!((s.v.phase, s.repaired), (Phase::Recovery, None));
}

#[test]
fn a_loss_that_the_probe_repaired_is_a_congestion_signal() {
    // §7.4.2, TLP_process_ack(): no duplicate is reported before something beyond the probe is acknowledged.
    let beyond = |s: &mut Sender| {
        s.v.unsent = 1000;
        s.v.window.cwnd = 20_000;
        s.send();
        s.wait(RTT, RTT);
        let to = s.v.snd_nxt;
        s.ack(to, &[]);
        s.repaired
    };
    let all = |s: &mut Sender| {
        s.wait(RTT, RTT);
        let to = s.v.snd_nxt;
        s.ack(to, &[]);
        assert_eq!(s.repaired, None);
    };
    let mut s = probed(&[]);
    all(&mut s);
    assert_eq!(beyond(&mut s), Some(8000), "what was outstanding then");
    s.repaired = None;
    assert_eq!(beyond(&mut s), None, "once");
    // Case 1: a DSACK for it, with the ack or after it.
    let mut s = probed(&[]);
    let end = s.v.snd_nxt;
    s.dsack = Some(SeqRange::new(end - 1000, end));
    all(&mut s);
    assert_eq!(beyond(&mut s), None);
    let mut s = probed(&[]);
    all(&mut s);
    s.dsack = Some(SeqRange::new(end - 1000, end));
    s.ack(end, &[]);
    assert_eq!(beyond(&mut s), None);
    // A DSACK for another segment does not count.
    let mut s = probed(&[]);
    s.dsack = Some(SeqRange::new(end - 2000, end - 1000));
    all(&mut s);
    assert_eq!(beyond(&mut s), Some(8000));
    // Case 2: a duplicate ack without SACK, from a receiver that has no DSACK.
    let mut s = probed(&[]);
    all(&mut s);
    s.ack(end, &[]);
    assert_eq!(beyond(&mut s), None);
    // A window that was reduced already is not reduced for the probe as well.
    let mut s = probed(&[]);
    s.expire();
    all(&mut s);
    assert_eq!(beyond(&mut s), None);
}

#[test]
fn without_sack_duplicates_are_counted() {
    let mut s = Sender::with(choose(&[]), false, SeqNumber(7), 10);
    let first = s.v.snd_una;
    for _ in 0..3 {
        s.ack(first, &[]);
    }
    assert_eq!((s.v.phase, s.board.next_lost(first)), (Phase::Recovery, Some(segs(&s, 0, 1))));
    assert_eq!(s.recovery.deadline(), None);
}

#[test]
fn in_linux_a_reduction_for_an_echo_is_watched_although_data_is_sacked() {
    for (sample_first, probes) in [("true", false), ("false", true)] {
        let mut s = sender(&[("sample_before_probe", sample_first)]);
        s.v.phase = Phase::Cwr;
        let (una, range) = (s.v.snd_una, segs(&s, 1, 2));
        s.board.sack(range);
        s.recovery.update_deadline(&s.board, &s.v, Some(Duration::from_secs(1)));
        assert_eq!(in_time(&s).is_some(), probes, "{una:?}");
    }
}

#[test]
fn in_linux_the_timeout_of_the_oldest_bounds_the_probe_that_new_data_starts() {
    let mut s = sender(&[("sample_before_probe", "false")]);
    s.v.oldest_sent_at = Some(s.v.now);
    s.recovery.update_deadline(&s.board, &s.v, None);
    let two_rtts = in_time(&s).expect("a probe");
    s.v.now += two_rtts / 2;
    s.recovery.update_deadline(&s.board, &s.v, Some(two_rtts));
    assert_eq!(in_time(&s), Some(two_rtts / 2));
    // Where that has passed, it bounds nothing.
    s.v.now += two_rtts;
    s.recovery.update_deadline(&s.board, &s.v, Some(two_rtts));
    assert_eq!(in_time(&s), Some(two_rtts));
}

// As Linux does it

#[test]
fn what_an_undo_leaves_lost_begins_another_recovery_in_linux() {
    for linux in ["true", "false"] {
        let mut s = sender(&[("linux", linux)]);
        s.wait(MS * 9, RTT);
        sack(&mut s, 1, 9);
        assert_eq!(s.send()[0], s.v.snd_una);
        // The window was restored by reports of duplicates; the hole is still there.
        s.v.phase = Phase::Disorder;
        s.wait(MS, RTT);
        let (una, block) = (s.v.snd_una, SeqRange::new(s.seq(8), s.seq(9)));
        s.dsack = Some(block);
        let phase = s.ack(una, &[]);
        assert_eq!(phase == Phase::Recovery, linux == "true", "{phase:?}");
    }
}

#[test]
fn the_timer_lets_no_new_data_go_in_linux() {
    for linux in ["true", "false"] {
        let mut s = sender(&[("linux", linux)]);
        s.wait(MS * 9, RTT);
        sack(&mut s, 1, 2);
        s.v.now = s.recovery.deadline().expect("a reordering timer");
        let (mut lost, v) = (vec![], s.v);
        let action = s.recovery.on_deadline(&s.board, &v, &mut lost);
        assert_eq!(action.repairs_only, linux == "true");
        assert_eq!(lost, [SeqRange::new(s.seq(0), s.seq(1))]);
    }
}
