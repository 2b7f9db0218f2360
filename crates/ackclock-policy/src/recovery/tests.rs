use ackclock_units::{SeqNumber, SeqRange};

use crate::harness::Sender;
use crate::{Phase, Registry};

/// A sender with ten segments outstanding, numbers chosen so that they wrap.
fn sender(name: &str, sack: bool, params: &[(&str, &str)]) -> Sender {
    let mut choice = Registry::builtin().choose::<dyn crate::LossRecovery>(name).expect("built in");
    for (param, value) in params {
        choice.set(param, value).expect("declared");
    }
    Sender::with(choice.build(), sack, SeqNumber(0xffff_f000), 10)
}

fn segs(s: &Sender, from: u32, to: u32) -> SeqRange {
    SeqRange::new(s.seq(from), s.seq(to))
}

/// Sends `n` duplicate acks; returns what was sent on each.
fn dups(s: &mut Sender, n: u32) -> Vec<Vec<SeqNumber>> {
    let una = s.v.snd_una;
    (0..n)
        .map(|_| {
            s.ack(una, &[]);
            s.send()
        })
        .collect()
}

#[test]
fn limited_transmit_sends_two_new_segments() {
    for name in ["tahoe", "reno", "newreno", "sack"] {
        let mut s = sender(name, false, &[]);
        let next = s.v.snd_nxt;
        assert_eq!(dups(&mut s, 2), [vec![next], vec![next + 1000]], "{name}");
        let mut s = sender(name, false, &[("limited_transmit", "false")]);
        assert_eq!(dups(&mut s, 2), [vec![], vec![]], "{name}");
        assert_eq!(s.v.phase, Phase::Disorder);
        // However late recovery comes, no more than two segments beyond the window.
        let mut s = sender(name, false, &[("dup_thresh", "9")]);
        assert_eq!(dups(&mut s, 8).concat(), [next, next + 1000], "{name}");
    }
}

#[test]
fn the_third_duplicate_retransmits_the_first_segment() {
    for (name, phase, marked) in [
        ("tahoe", Phase::Loss, 10),
        ("reno", Phase::Recovery, 1),
        ("newreno", Phase::Recovery, 1),
        ("sack", Phase::Recovery, 1),
    ] {
        let mut s = sender(name, false, &[("limited_transmit", "false")]);
        let first = s.v.snd_una;
        let sent = dups(&mut s, 3);
        assert_eq!((s.v.phase, &sent[2]), (phase, &vec![first]), "{name}");
        assert_eq!(s.board.lost().len() + 1, marked, "{name}");
    }
    let mut s = sender("tahoe", false, &[("go_back_n", "false")]);
    dups(&mut s, 3);
    assert_eq!((s.v.phase, s.board.lost().len()), (Phase::Loss, 0));
}

#[test]
fn further_duplicates_clock_out_new_data() {
    // RFC 5681 §3.2: window 5 after the reduction; ten outstanding, of which three are known to have arrived.
    // Each further duplicate frees a segment.
    let mut s = sender("newreno", false, &[("limited_transmit", "false")]);
    let (una, next) = (s.v.snd_una, s.v.snd_nxt);
    dups(&mut s, 3);
    let sent: Vec<_> = dups(&mut s, 6).concat();
    assert_eq!(sent, [next, next + 1000, next + 2000, next + 3000]);
    assert_eq!(s.v.snd_una, una);
}

#[test]
fn a_partial_ack_ends_renos_recovery_and_retransmits_newrenos_next_hole() {
    let mut reno = sender("reno", false, &[]);
    dups(&mut reno, 3);
    let to = reno.seq(4);
    assert_eq!(reno.ack(to, &[]), Phase::Open);
    let mut s = sender("newreno", false, &[]);
    dups(&mut s, 3);
    let (to, point) = (s.seq(4), s.v.recovery_point);
    assert_eq!(s.ack(to, &[]), Phase::Recovery);
    assert_eq!(s.send()[0], to);
    assert_eq!(s.ack(point, &[]), Phase::Open);
}

#[test]
fn careful_newreno_infers_no_loss_from_its_own_retransmissions() {
    // RFC 6582 §3.2: after a timeout everything is retransmitted; duplicate acks for what had arrived must
    // not begin a recovery at the recover point.
    for (careful, phase) in [("true", Phase::Disorder), ("false", Phase::Recovery)] {
        let mut s = sender("newreno", false, &[("careful", careful)]);
        s.expire();
        let point = s.v.recovery_point;
        s.v.window.cwnd = 20_000;
        s.ack(point, &[]);
        s.send();
        dups(&mut s, 3);
        assert_eq!(s.v.phase, phase, "careful {careful}");
        // After an ack beyond it duplicates count again.
        let to = s.seq(1);
        s.ack(to, &[]);
        dups(&mut s, 3);
        assert_eq!(s.v.phase, Phase::Recovery);
    }
}

#[test]
fn the_recover_point_is_forgotten_before_it_wraps() {
    let mut s = sender("newreno", false, &[]);
    dups(&mut s, 3);
    let point = s.v.recovery_point;
    s.ack(point, &[]);
    // Three gigabytes later the old point would look like one ahead.
    for _ in 0..3 {
        let to = s.v.snd_una + (1 << 30);
        s.v.snd_nxt = to;
        s.ack(to, &[]);
    }
    s.v.window.cwnd = 10_000;
    s.outstanding(10);
    dups(&mut s, 3);
    assert_eq!(s.v.phase, Phase::Recovery);
}

#[test]
fn timeout_only_retransmits_on_the_timer_only() {
    let mut s = sender("timeout-only", false, &[]);
    assert!(dups(&mut s, 9).concat().is_empty());
    assert_eq!(s.v.phase, Phase::Open);
    let (first, point) = (s.v.snd_una, s.v.snd_nxt);
    s.expire();
    s.v.window.cwnd = 10_000;
    assert_eq!(s.send().len(), 10, "everything again (J-A16)");
    assert_eq!(s.ack(first + 3000, &[]), Phase::Loss);
    assert_eq!(s.ack(point, &[]), Phase::Open);
}

// RFC 6675

#[test]
fn three_discontiguous_ranges_indicate_a_loss() {
    // One byte more than two segments is enough too, so the ranges are small.
    let mut s = sender("sack", true, &[]);
    s.v.smss = 10_000;
    let una = s.v.snd_una;
    for (i, want) in [(2, Phase::Disorder), (4, Phase::Disorder), (6, Phase::Recovery)] {
        let block = segs(&s, i, i + 1);
        assert_eq!(s.ack(una, &[block]), want, "segment {i}");
    }
    // Three ranges above segments 0 and 1; above 3 only two.
    assert_eq!(s.marked, [SeqRange::new(una, una + 2000)]);
}

#[test]
fn more_than_two_segments_sacked_indicate_a_loss() {
    let mut s = sender("sack", true, &[]);
    let una = s.v.snd_una;
    let (two, three) = (segs(&s, 1, 3), segs(&s, 1, 4));
    assert_eq!(s.ack(una, &[two]), Phase::Disorder, "2 * SMSS is not more");
    assert_eq!(s.ack(una, &[three]), Phase::Recovery);
    assert_eq!(s.send()[..1], [una]);
}

#[test]
fn an_ack_of_new_data_that_shows_a_loss_begins_recovery_too() {
    let mut s = sender("sack", true, &[]);
    let (to, block) = (s.seq(2), segs(&s, 3, 7));
    assert_eq!(s.ack(to, &[block]), Phase::Recovery);
}

#[test]
fn holes_are_retransmitted_in_order_as_pipe_allows() {
    let mut s = sender("sack", true, &[]);
    s.v.unsent = 0;
    let una = s.v.snd_una;
    // 0, 2 and 4 are missing; SACKs for 1, 3, 5.
    for i in [1, 3, 5] {
        let block = segs(&s, i, i + 1);
        s.ack(una, &[block]);
    }
    assert_eq!(s.v.phase, Phase::Recovery);
    // Window 5; pipe: 2 (not yet lost), 4 and 6..10 are in the network, 0 is lost. The first is sent whatever
    // pipe is.
    assert_eq!(s.send(), [una]);
    let block = segs(&s, 5, 7);
    s.ack(una, &[block]);
    assert_eq!(s.marked, [SeqRange::new(una + 1000, una + 3000)], "2 is lost now");
    // Pipe: 0 again, 4, 7, 8, 9.
    assert!(s.send().is_empty());
    let block = segs(&s, 5, 10);
    s.ack(una, &[block]);
    assert_eq!(s.marked, [SeqRange::new(una + 3000, una + 5000)], "4 too; nothing is marked twice");
    assert_eq!(s.send(), [una + 2000, una + 4000]);
    let to = s.seq(10);
    assert_eq!(s.ack(to, &[]), Phase::Open);
}

#[test]
fn without_new_data_holes_not_known_lost_are_filled() {
    // NextSeg rule 3: 7 and 8 have only one segment SACKed above them.
    let mut s = sender("sack", true, &[]);
    s.v.unsent = 0;
    let una = s.v.snd_una;
    let blocks = [segs(&s, 9, 10), segs(&s, 1, 7)];
    s.ack(una, &blocks);
    assert_eq!(s.send(), [una, una + 7000, una + 8000]);
    // With new data, that comes first (rule 2).
    let mut s = sender("sack", true, &[]);
    let blocks = [segs(&s, 9, 10), segs(&s, 1, 8)];
    s.ack(una, &blocks);
    assert_eq!(s.send()[..3], [una, una + 10_000, una + 11_000]);
}

#[test]
fn the_tail_is_rescued_once() {
    // NextSeg rule 4: 8 and 9 may be missing; nothing is SACKed above them and no new data is left.
    let mut s = sender("sack", true, &[]);
    s.v.unsent = 0;
    let una = s.v.snd_una;
    let block = segs(&s, 1, 8);
    s.ack(una, &[block]);
    assert_eq!(s.send(), [una]);
    // §5 step 4.3: RescueRxt begins at the end of the first retransmission, and HighACK must be beyond.
    let to = s.seq(1);
    s.ack(to, &[]);
    assert!(s.send().is_empty(), "prematurely");
    let to = s.seq(8);
    s.ack(to, &[]);
    assert_eq!(s.send(), [una + 9000]);
    s.v.pipe = 0;
    assert!(s.send().is_empty(), "once per episode");
}

#[test]
fn a_retransmitted_hole_is_not_rescued() {
    let mut s = sender("sack", true, &[]);
    s.v.unsent = 0;
    let una = s.v.snd_una;
    let block = segs(&s, 1, 10);
    s.ack(una, &[block]);
    assert_eq!(s.send(), [una]);
    s.v.pipe = 0;
    assert!(s.send().is_empty());
}

#[test]
fn after_a_timeout_no_recovery_begins_before_it_is_over() {
    // RFC 6675 §5.1
    let mut s = sender("sack", true, &[]);
    let una = s.v.snd_una;
    s.expire();
    let (block, point) = (segs(&s, 1, 8), s.v.recovery_point);
    assert_eq!(s.ack(una, &[block]), Phase::Loss);
    assert_eq!(s.board.lost(), [una, una + 8000, una + 9000]);
    assert_eq!(s.ack(point, &[]), Phase::Open);
}

#[test]
fn every_episode_marks_its_own_losses() {
    let mut s = sender("sack", true, &[]);
    for _ in 0..5 {
        let una = s.v.snd_una;
        let n = s.v.flight_size as u32 / 1000;
        let block = segs(&s, 1, n);
        assert_eq!(s.ack(una, &[block]), Phase::Recovery);
        assert_eq!(s.send()[0], una);
        let to = s.v.snd_nxt;
        assert_eq!(s.ack(to, &[]), Phase::Open);
        s.v.window.cwnd = 10_000;
        s.v.phase = Phase::Recovery;
        s.send();
        s.v.phase = Phase::Open;
    }
}

#[test]
fn a_spurious_timeout_leaves_no_marks_behind() {
    let mut s = sender("sack", true, &[]);
    let una = s.v.snd_una;
    s.expire();
    s.outstanding(10);
    s.v.phase = Phase::Open;
    s.recovery.on_undo(&s.v);
    let block = segs(&s, 1, 8);
    assert_eq!(s.ack(una, &[block]), Phase::Recovery);
    assert_eq!(s.marked, [SeqRange::new(una, una + 1000)]);
}
