//! Segment arrival, rule by rule: RFC 9293 §3.10.7 in each synchronized state, RFC 5961, RFC 7323, RFC 6191.

use ackclock_engine::State;
use ackclock_testkit::timeline::{Seg, Timeline, seg};
use ackclock_testkit::{Setup, choose};
use ackclock_units::SeqNumber;
use ackclock_wire::{Flags, Options, Segment, Timestamps};

fn plain() -> Setup {
    Setup::default().with(|c| (c.sack, c.window_scaling, c.rcv_buf) = (false, false, 10_000))
}

fn stamped() -> Setup {
    Setup::default()
        .with(|c| (c.timestamps, c.window_scaling) = (true, false))
        .with_policies(|s| s.ack = choose("every"))
}

fn syn_ack() -> Seg {
    seg("S.").ack(1).mss(1000)
}

/// A connection in each synchronized state, with its next sequence number and the peer's.
fn in_every_state() -> Vec<(Timeline, State, u32, u32)> {
    let mut all = Vec::new();
    for (state, ours, theirs) in [
        (State::Established, 1, 1),
        (State::FinWait1, 2, 1),
        (State::FinWait2, 2, 1),
        (State::CloseWait, 1, 2),
        (State::Closing, 2, 2),
        (State::LastAck, 2, 2),
        (State::TimeWait, 2, 2),
    ] {
        let mut t = Timeline::connected(&plain(), syn_ack());
        if matches!(state, State::CloseWait | State::LastAck) {
            t.inject(0, seg("F.").seq(1).ack(1));
        }
        if !matches!(state, State::Established | State::CloseWait) {
            t.close();
        }
        match state {
            State::FinWait2 => t.inject(0, seg(".").seq(1).ack(2)),
            State::Closing => t.inject(0, seg("F.").seq(1).ack(1)),
            State::TimeWait => t.inject(0, seg("F.").seq(1).ack(2)),
            _ => {}
        }
        t.take_sent();
        assert_eq!(t.state(), state);
        all.push((t, state, ours, theirs));
    }
    all
}

#[test]
fn acks_for_segments_far_outside_the_window_are_limited() {
    // RFC 5961 §7.
    let limit = plain().config.challenge_ack_limit as usize;
    for seq in [20_000, 1_000_000, 0u32.wrapping_sub(70_000), 0x8000_0000] {
        let mut t = Timeline::connected(&plain(), syn_ack());
        for _ in 0..3 * limit {
            t.inject(10, seg("P.").seq(seq).ack(1).len(10));
        }
        assert_eq!(t.take_sent().len(), limit, "{seq}");
        // Old data again, as a peer sends it after our ack was lost.
        t.inject(20, seg("P.").seq(1).ack(1).len(10));
        t.take_sent();
        for _ in 0..3 * limit {
            t.inject(20, seg("P.").seq(1).ack(1).len(10));
        }
        assert_eq!(t.take_sent().len(), 3 * limit, "{seq}");
        t.inject(1020, seg("P.").seq(seq).ack(1).len(10));
        assert_eq!(t.take_sent().len(), 1, "{seq}");
    }
}

#[test]
fn every_synchronized_state_acknowledges_unacceptable_segments() {
    let ack_of =
        |state| if matches!(state, State::FinWait1 | State::Closing | State::LastAck) { 1 } else { 2 };
    for (mut t, state, ours, theirs) in in_every_state() {
        let ack = if state == State::Established || state == State::CloseWait { 1 } else { ack_of(state) };
        let (mut at, reply) = (0, seg(".").seq(ours).ack(theirs).len(0));
        for (what, s) in [
            ("data far beyond the window", seg("P.").seq(theirs + 20_000).ack(ack).len(10)),
            ("old data", seg("P.").seq(0).ack(ack).len(1)),
            ("an ack of what was never sent", seg(".").seq(theirs).ack(ours + 1)),
            ("an ack of long ago", seg(".").seq(theirs).ack(0u32.wrapping_sub(70_000))),
            ("a SYN in the window", seg("S").seq(theirs + 5)),
            ("a SYN before the window", seg("S").seq(0)),
            ("a SYN-ACK again", seg("S.").seq(0).ack(1)),
            ("a blind reset", seg("R").seq(theirs + 5)),
        ] {
            at += 10;
            t.inject(at, s);
            let sent = t.take_sent();
            assert_eq!(sent.len(), 1, "{state:?}: {what} elicits one ack\n{t}");
            t.expect_silence(at);
            let (_, s) = &sent[0];
            assert_eq!(
                (s.flags, s.seq.0 - 1000, s.ack.0 - 50_000, s.len),
                (Flags::ACK, ours, theirs, 0),
                "{state:?}: {what}, {reply:?}\n{t}"
            );
            assert_eq!(t.state(), state, "{what}");
        }
        for (what, s) in [
            ("a reset before the window", seg("R").seq(theirs - 1)),
            ("a reset beyond the window", seg("R").seq(theirs + 20_000)),
            ("text without ACK", seg("P").seq(theirs).len(10)),
            ("a FIN without ACK", seg("F").seq(theirs)),
        ] {
            at += 10;
            t.inject(at, s);
            assert_eq!((t.take_sent(), t.state()), (vec![], state), "{what}\n{t}");
        }
        assert_eq!(t.endpoint.connection.readable(), 0, "{state:?}");
    }
}

#[test]
fn a_retransmitted_fin_is_acknowledged_in_every_state_after_it() {
    for (mut t, state, ours, theirs) in in_every_state().into_iter().filter(|(_, _, _, theirs)| *theirs == 2)
    {
        for at in [10, 20] {
            t.inject(at, seg("F.").seq(1).ack(1));
            let sent = t.take_sent();
            assert_eq!(
                sent.iter().map(|(_, s)| (s.seq.0 - 1000, s.ack.0 - 50_000)).collect::<Vec<_>>(),
                [(ours, theirs)],
                "{state:?}\n{t}"
            );
            assert_eq!(t.state(), state);
        }
        // Text after a FIN is ignored (RFC 9293 §3.10.7.4).
        t.inject(30, seg("P.").seq(2).ack(1).len(10));
        assert_eq!((t.endpoint.connection.readable(), t.state()), (0, state));
        assert!(t.take_sent().iter().all(|(_, s)| s.ack.0 == 50_002), "{t}");
    }
}

#[test]
fn a_segment_is_acceptable_by_the_table() {
    // RFC 9293 §3.4, table 6, with a window of 1000 and with a closed one.
    for (window, seq, len, taken) in [
        (1000, 0, 1, 0),
        (1000, 1, 1000, 1000),
        (1000, 1, 1001, 1000),
        (1000, 0, 500, 499),
        (1000, 500, 100, 0),
        (1000, 1001, 1, 0),
        (1000, 0u32.wrapping_sub(100), 1400, 1000),
        (0, 1, 1, 0),
        (0, 0, 2, 0),
        (0, 2, 1, 0),
    ] {
        let mut t = Timeline::connected(&plain().with(|c| c.rcv_buf = 1000), syn_ack());
        let mut base = 0;
        if window == 0 {
            t.inject(0, seg("P.").seq(1).len(1000));
            base = 1000;
            t.run_to(300);
            t.take_sent();
        }
        let before = t.endpoint.connection.readable();
        let first = u64::from(seq.wrapping_add(base).wrapping_sub(1));
        let mut bytes = vec![0; len as usize];
        for (i, b) in bytes.iter_mut().enumerate() {
            *b = (first.wrapping_add(i as u64)) as u8;
        }
        t.inject_bytes(400, seg("P.").seq(seq.wrapping_add(base)), &bytes);
        assert_eq!(
            t.endpoint.connection.readable() - before,
            taken,
            "window {window}, {len} bytes at {seq}\n{t}"
        );
        if taken == 0 {
            t.expect(400, seg(".").ack(1 + base));
        }
    }
}

#[test]
fn a_closed_window_lets_acks_and_resets_through() {
    // RFC 9293 §3.10.7.4: "special allowance should be made to accept valid ACKs, URGs, and RSTs".
    let closed = || {
        let mut t = Timeline::connected(&plain().with(|c| c.rcv_buf = 1000), syn_ack());
        t.write(500);
        t.inject(0, seg("P.").seq(1).len(1000));
        t.run_to(300);
        t.take_sent();
        t
    };
    for (s, unacked) in [
        (seg(".").seq(1001).ack(501), 0),
        (seg("P.").seq(1001).ack(501).len(10), 0),
        (seg("F.").seq(1001).ack(501), 0),
        (seg("P.").seq(1000).ack(501).len(1), 500),
        (seg("P.").seq(1001).ack(502).len(10), 500),
    ] {
        let mut t = closed();
        t.inject(400, s);
        assert_eq!((t.endpoint.connection.unacked(), t.state()), (unacked, State::Established), "{s:?}\n{t}");
    }
    for (s, state) in [
        (seg("R").seq(1001), State::Closed),
        (seg("R.").seq(1001).ack(1), State::Closed),
        (seg("R.").seq(1001).ack(1).len(20), State::Closed),
        (seg("R").seq(1002), State::Established),
        (seg("R").seq(1000), State::Established),
    ] {
        let mut t = closed();
        t.inject(400, s);
        t.expect_silence(400);
        assert_eq!(t.state(), state, "{s:?}\n{t}");
    }
}

#[test]
fn an_old_acknowledgment_does_not_move_the_send_window() {
    // RFC 9293 §3.10.7.4: the window is updated if SND.UNA =< SEG.ACK =< SND.NXT.
    let mut t = Timeline::connected(&plain(), syn_ack().window(2000));
    t.write(20_000);
    t.expect(0, seg(".").seq(1).len(1000));
    t.expect(0, seg(".").seq(1001).len(1000));
    t.inject(10, seg(".").seq(1).ack(2001).window(0));
    t.inject(20, seg("P.").seq(1).ack(1001).len(100).window(60_000));
    // Even with a newer sequence number.
    t.inject(21, seg("P.").seq(101).ack(1001).len(100).window(60_000));
    t.expect_within(21, 21, seg(".").ack(201).len(0));
    t.expect_silence(22);
    t.inject(30, seg(".").seq(201).ack(2001).window(1000));
    t.expect(30, seg(".").seq(2001).len(1000));
}

#[test]
fn a_syn_without_timestamps_is_challenged_too() {
    // RFC 5961 §4.2 "MUST send an ACK" takes precedence over RFC 7323 §3.2 "SHOULD silently drop": a peer
    // that has lost its state may offer other options.
    let mut t = Timeline::connected(&stamped(), syn_ack().timestamps(1000, 1));
    for (at, seq) in [(10, 0), (20, 1), (30, 500), (40, 0x9000_0000)] {
        t.inject(at, seg("S").seq(seq).mss(1000));
        t.expect(at, seg(".").seq(1).ack(1).len(0));
        // An old timestamp makes no difference.
        t.inject(at + 5, seg("S").seq(seq).mss(1000).timestamps(7, 0));
        t.expect(at + 5, seg(".").seq(1).ack(1).len(0));
    }
    assert_eq!((t.state(), t.endpoint.connection.stats().challenge_acks), (State::Established, 8));
    t.inject(50, seg("R").seq(1));
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn challenges_of_syns_are_limited_per_second() {
    // RFC 5961 §7.
    for seq in [100, 20_000, 0] {
        let mut t = Timeline::connected(&plain().with(|c| c.challenge_ack_limit = 10), syn_ack());
        (0..50).for_each(|i| t.inject(i, seg("S").seq(seq)));
        assert_eq!(t.take_sent().len(), 10, "SYNs at {seq}");
    }
}

#[test]
fn a_reset_of_ours_carries_timestamps() {
    // RFC 7323 §3.2: "SHOULD be sent in an RST segment".
    let mut t = Timeline::connected(&stamped(), syn_ack().timestamps(1000, 1));
    t.inject(100, seg("P.").seq(1).ack(1).len(10).timestamps(1100, 1));
    let ack = t.expect(100, seg(".").echo(1100)).options.timestamps.expect("negotiated");
    t.run_to(150);
    t.abort();
    t.expect(150, seg("R.").seq(1).ack(11).timestamps(ack.tsval + 50, 1100));
    let mut t = Timeline::connected(&plain(), syn_ack());
    t.abort();
    t.expect(0, seg("R.").seq(1).ack(1).no_timestamps());
}

#[test]
fn only_accepted_segments_set_the_timestamp_that_is_echoed() {
    // RFC 7323 §4.3 and §5.3, with RFC 5961 §5.2: neither segments outside the window, nor those with an
    // invalid acknowledgment, nor those after a hole set it.
    let mut t = Timeline::connected(&stamped(), syn_ack().timestamps(1000, 1));
    for (at, s, echo) in [
        (10, seg("P.").seq(1).ack(900).len(10).timestamps(500_000, 1), 1000),
        (20, seg("P.").seq(1).ack(0u32.wrapping_sub(90_000)).len(10).timestamps(500_000, 1), 1000),
        (30, seg("P.").seq(200_000).ack(1).len(10).timestamps(500_000, 1), 1000),
        (40, seg("S").seq(1).timestamps(500_000, 1), 1000),
        (50, seg("R").seq(2).timestamps(500_000, 1), 1000),
        (60, seg("P.").seq(101).ack(1).len(10).timestamps(1100, 1), 1000),
        (70, seg("P.").seq(1).ack(1).len(10).timestamps(1090, 1), 1090),
        (80, seg("P.").seq(1).ack(1).len(10).timestamps(1200, 1), 1090),
        (90, seg("P.").seq(11).ack(1).len(90).timestamps(1095, 1), 1095),
        (100, seg("F.").seq(111).ack(1).timestamps(2000, 1), 2000),
    ] {
        t.inject(at, s);
        t.expect(at, seg(".").seq(1).echo(echo));
    }
    assert_eq!(t.state(), State::CloseWait);
    // Nor does a handshake that ends with an invalid acknowledgment.
    let mut t = Timeline::new(&stamped());
    t.as_mut().listen();
    t.inject(0, seg("S").mss(1000).timestamps(100, 0));
    t.expect(0, seg("S.").echo(100));
    t.inject(10, seg(".").seq(1).ack(77).timestamps(500_000, 1));
    t.expect(10, seg("R").seq(77));
    t.inject(20, seg(".").seq(1).ack(1).timestamps(120, 1));
    assert_eq!(t.state(), State::Established);
}

#[test]
fn time_wait_accepts_a_newer_incarnation_only() {
    // RFC 6191 §2, and RFC 9293 §3.6.1 without timestamps.
    let syn = |seq: u32, tsval: Option<u32>| Segment {
        seq: SeqNumber(50_000 + seq),
        flags: Flags::SYN,
        options: Options {
            timestamps: tsval.map(|tsval| Timestamps { tsval, tsecr: 0 }),
            ..Options::default()
        },
        ..Segment::default()
    };
    let mut t = Timeline::connected(&stamped(), syn_ack().timestamps(1000, 1));
    t.close();
    t.inject(0, seg("F.").seq(1).ack(2).timestamps(2000, 1));
    assert_eq!(t.state(), State::TimeWait);
    for (seq, tsval, yes) in [
        (100, Some(2001), true),
        (0, Some(2001), true),
        (100, Some(2000), true),
        (1, Some(2000), false),
        (100, Some(1999), false),
        (0, Some(1999), false),
        (100, None, true),
        (1, None, false),
    ] {
        assert_eq!(
            t.endpoint.connection.may_be_replaced_by(&syn(seq, tsval)),
            yes,
            "SYN at {seq} with {tsval:?}"
        );
    }
}
