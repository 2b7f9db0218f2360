use ackclock_units::{SeqNumber, SeqRange};

use crate::harness::{ReferenceScoreboard, ack, view};
use crate::{
    AckInfo, EpisodeVerdict, Phase, Registry, ScoreboardView as _, SenderView, SpuriousTimeout,
    SuspectEpisode, SuspectTimeout, TimeoutVerdict, Window,
};

use EpisodeVerdict::{AllLate, Genuine, Reported, Spurious, Unknown};

/// Ten segments of 1000 bytes from 1 on are outstanding, and a recovery has begun.
struct Episode {
    undo: Box<dyn SpuriousTimeout>,
    board: ReferenceScoreboard,
    v: SenderView,
    e: SuspectEpisode,
}

fn seg(i: u32) -> SeqRange {
    SeqRange::new(SeqNumber(1 + i * 1000), SeqNumber(1001 + i * 1000))
}

impl Episode {
    fn of(name: &str) -> Self {
        let mut undo = Registry::builtin().choose::<dyn SpuriousTimeout>(name).expect(name).build();
        let board = ReferenceScoreboard::of(SeqNumber(1), 10, 1000);
        let v = SenderView { snd_nxt: SeqNumber(10_001), sack: true, timestamps: true, ..view() };
        assert!(undo.examines_episodes());
        undo.on_episode(&board, &v);
        let v = SenderView { phase: Phase::Recovery, ..v };
        let window = Window { cwnd: 10_000, ssthresh: u64::MAX };
        let e = SuspectEpisode { window, start: v.snd_una, recover: v.snd_nxt, acks_original: None };
        Self { undo, board, v, e }
    }

    fn retransmit(&mut self, i: u32) {
        self.board.retransmit(seg(i).start, self.v.now);
        self.undo.on_retransmit(seg(i), &self.v);
    }

    /// An ack of the first `n` segments, with the report of a duplicate.
    fn ack(&mut self, n: u32, dsack: Option<SeqRange>) -> EpisodeVerdict {
        let to = SeqNumber(1 + n * 1000);
        let newly = u64::from(to.bytes_since(self.v.snd_una));
        let sent_again = |range: SeqRange| {
            range.start >= self.v.snd_una
                && self.board.segment(range.start).is_some_and(|s| s.transmissions > 1)
        };
        let dsack_sent_again = dsack.map_or(0, |range| u32::from(sent_again(range)));
        self.board.acknowledge(to);
        self.v.snd_una = to;
        let a = AckInfo { dsack, dsack_sent_again, ..ack(to.0, newly) };
        self.undo.on_episode_ack(&a, &self.e, &self.board, &self.v)
    }
}

#[test]
fn every_retransmission_must_be_reported() {
    // Linux undoes a recovery whatever else is lost, which begins another one (`tcp_try_undo_dsack`).
    for (name, undone) in [("dsack", Spurious), ("linux", Reported)] {
        let mut s = Episode::of(name);
        s.retransmit(0);
        s.retransmit(1);
        assert_eq!(s.ack(4, None), Unknown, "{name}");
        assert_eq!(s.ack(5, Some(seg(0))), Unknown, "{name}: RFC 3708 3 (B.2)");
        assert_eq!(s.ack(6, Some(seg(1))), undone, "{name}: (B.1)");
    }
}

#[test]
fn the_report_may_come_after_the_recovery() {
    for name in ["dsack", "linux"] {
        let mut s = Episode::of(name);
        s.retransmit(0);
        assert_eq!(s.ack(10, None), Unknown, "{name}");
        s.v.phase = Phase::Open;
        assert_eq!(s.ack(10, Some(seg(0))), Spurious, "{name}");
    }
}

#[test]
fn rfc_3708_is_careful() {
    // §3 (A.1): the whole window of acks was lost; the report begins at SND.UNA and nothing was SACKed.
    let mut s = Episode::of("dsack");
    s.retransmit(0);
    assert_eq!(s.ack(10, Some(seg(0))), Genuine);
    // (A.3): retransmitted twice.
    let mut s = Episode::of("dsack");
    s.retransmit(2);
    s.retransmit(2);
    assert_eq!(s.ack(4, Some(seg(2))), Genuine);
    // (A.4): not retransmitted: the network duplicates, for the rest of the connection.
    let mut s = Episode::of("dsack");
    s.retransmit(0);
    assert_eq!(s.ack(4, Some(seg(2))), Genuine);
    s.undo.on_episode(&s.board, &s.v);
    s.retransmit(5);
    assert_eq!(s.ack(8, Some(seg(5))), Genuine);
}

#[test]
fn a_probe_before_the_episode_is_no_sign_of_duplication() {
    let mut s = Episode::of("dsack");
    s.v.phase = Phase::Open;
    s.retransmit(9);
    s.v.phase = Phase::Recovery;
    s.retransmit(0);
    assert_eq!(s.ack(4, Some(seg(9))), Unknown);
    assert_eq!(s.ack(5, Some(seg(0))), Spurious);
}

#[test]
fn linux_counts_what_was_in_the_network_when_the_episode_began() {
    // A probe that was sent before the episode may be reported too (tcp_init_undo).
    let mut s = Episode::of("linux");
    s.v.phase = Phase::Open;
    s.retransmit(9);
    s.undo.on_episode(&s.board, &s.v);
    s.v.phase = Phase::Recovery;
    s.retransmit(0);
    assert_eq!(s.ack(4, Some(seg(0))), Unknown);
    assert_eq!(s.ack(10, Some(seg(9))), Spurious);
}

#[test]
fn more_reports_than_retransmissions_do_not_count_for_linux() {
    let mut s = Episode::of("linux");
    s.retransmit(0);
    s.retransmit(1);
    assert_eq!(s.ack(4, Some(SeqRange::new(seg(0).start, seg(3).end))), Unknown);
    assert_eq!(s.ack(5, Some(seg(1))), Unknown, "the network duplicates");
}

#[test]
fn the_report_of_what_was_sent_once_counts_for_nothing() {
    // The ack that brings the report may be the first to acknowledge the segment.
    for (reported, verdict) in [(2, Unknown), (0, Reported)] {
        let mut s = Episode::of("linux");
        s.retransmit(0);
        assert_eq!(s.ack(4, Some(seg(reported))), verdict, "{reported}");
    }
}

#[test]
fn linux_takes_timestamps_when_no_retransmission_is_in_the_network() {
    let delayed = |s: &mut Episode| s.e.acks_original = Some(true);
    let mut s = Episode::of("linux");
    s.retransmit(0);
    s.retransmit(1);
    delayed(&mut s);
    assert_eq!(s.ack(1, None), Unknown, "tcp_try_undo_partial: retrans_out");
    assert_eq!(s.ack(4, None), AllLate, "and what is marked lost is so no more");
    let mut s = Episode::of("linux");
    s.retransmit(0);
    s.retransmit(8);
    delayed(&mut s);
    assert_eq!(s.ack(10, None), Spurious, "tcp_try_undo_recovery");
    let mut s = Episode::of("linux");
    s.retransmit(0);
    s.e.acks_original = Some(false);
    assert_eq!(s.ack(10, None), Unknown);
}

#[test]
fn linux_waits_for_progress_after_a_timeout() {
    let mut s = Episode::of("linux");
    s.v.phase = Phase::Loss;
    s.retransmit(0);
    assert_eq!(s.ack(0, Some(seg(0))), Unknown, "tcp_process_loss");
    assert_eq!(s.ack(1, None), Spurious);
}

#[test]
fn linux_finds_an_original_at_once_after_a_timeout() {
    let timeout = SuspectTimeout {
        window: Window { cwnd: 10_000, ssthresh: 8000 },
        flight_size: 10_000,
        recover: SeqNumber(10_001),
        retransmitted_to: SeqNumber(1001),
        acks_original: None,
        sent_once_arrived: false,
        dsack_seen: false,
    };
    let verdict = |acked: u32, sacked: Option<u32>, sent_once_arrived: bool| {
        let mut s = Episode::of("linux");
        s.v.phase = Phase::Open;
        assert!(s.undo.on_rto(&s.v));
        s.board.acknowledge(SeqNumber(1 + acked * 1000));
        let newly_sacked = sacked.map_or(0, |i| s.board.sack(seg(i)));
        let a = AckInfo { newly_sacked, ..ack(1 + acked * 1000, u64::from(acked) * 1000) };
        let v = SenderView { phase: Phase::Loss, snd_una: a.ack, ..s.v };
        s.undo.on_ack(&a, &SuspectTimeout { sent_once_arrived, ..timeout }, &s.board, &v)
    };
    // FLAG_ORIG_SACK_ACKED: never retransmitted, and sent before the timeout.
    assert_eq!(verdict(10, None, true), TimeoutVerdict::Spurious, "everything");
    assert_eq!(verdict(2, None, true), TimeoutVerdict::Spurious);
    assert_eq!(verdict(0, Some(4), true), TimeoutVerdict::Spurious);
    let by_window = TimeoutVerdict::SendNew { segments: u32::MAX };
    assert_eq!(verdict(1, None, false), by_window, "the retransmission alone");
    assert_eq!(verdict(3, None, false), by_window, "and what was SACKed before");
    assert_eq!(verdict(10, None, false), TimeoutVerdict::Genuine, "the rest was a probe, or SACKed before");
}

#[test]
fn linux_examines_by_f_rto_what_follows_an_open_window() {
    let on_rto = |f_rto: &str, phase, expiries| {
        let mut choice = Registry::builtin().choose::<dyn SpuriousTimeout>("linux").expect("built in");
        choice.set("f_rto", f_rto).expect("a flag");
        choice.build().on_rto(&SenderView { phase, expiries, ..view() })
    };
    assert!(on_rto("true", Phase::Open, 0) && on_rto("true", Phase::Disorder, 0));
    assert!(!on_rto("true", Phase::Recovery, 0) && !on_rto("true", Phase::Loss, 0));
    // icsk_retransmits: even where the first expiry of the repair was not examined.
    assert!(on_rto("true", Phase::Loss, 1));
    assert!(!on_rto("false", Phase::Open, 0) && !on_rto("false", Phase::Loss, 1));
}

#[test]
fn linux_expects_a_report_of_the_probe_that_came_before() {
    // `tcp_init_undo`: the probe has repeated the last segment, which is SACKed since, and its end is not
    // acknowledged.
    let mut s = Episode::of("linux");
    s.v.phase = Phase::Open;
    s.retransmit(9);
    s.board.sack(seg(9));
    s.undo.on_episode(&s.board, &s.v);
    s.v.phase = Phase::Recovery;
    s.retransmit(0);
    assert_eq!(s.ack(9, Some(seg(0))), Unknown);
    assert_eq!(s.ack(10, Some(seg(9))), Spurious);
}
