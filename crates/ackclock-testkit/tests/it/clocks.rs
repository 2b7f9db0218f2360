//! Timers: delayed acks, retransmissions and their limit, keepalive, user timeout, idle restart.

use ackclock_engine::{AbortReason, ConnectionEvent, IdleAfter, IdleSince, State};
use ackclock_testkit::timeline::{Seg, Timeline, seg};
use ackclock_testkit::{Setup, choose};
use ackclock_units::Duration;
use ackclock_wire::Segment;

fn plain() -> Setup {
    Setup::default().with(|c| (c.sack, c.window_scaling) = (false, false))
}

fn syn_ack() -> Seg {
    seg("S.").ack(1).mss(1000)
}

fn open(setup: &Setup) -> Timeline {
    Timeline::connected(setup, syn_ack())
}

#[test]
fn every_second_full_segment_is_acknowledged_at_once_and_the_last_one_delayed() {
    // RFC 1122 §4.2.3.2, RFC 5681 §4.2.
    let mut t = open(&plain());
    t.inject(10, seg(".").seq(1).len(1000));
    t.expect_silence(20);
    t.inject(20, seg(".").seq(1001).len(1000));
    t.expect(20, seg(".").ack(2001));
    t.inject(30, seg(".").seq(2001).len(1000));
    t.expect_silence(229);
    t.expect(230, seg(".").ack(3001));
    t.expect_silence(10_000);
}

#[test]
fn a_delayed_ack_is_piggybacked_on_data() {
    let mut t = open(&plain());
    t.inject(10, seg(".").seq(1).len(1000));
    t.run_to(50);
    t.write(10);
    t.expect(50, seg("P.").ack(1001).len(10));
    t.inject(60, seg(".").seq(1001).ack(11));
    t.expect_silence(10_000);
}

#[test]
fn gaps_and_their_filling_are_acknowledged_at_once() {
    let mut t = open(&plain());
    t.inject(10, seg(".").seq(1001).len(1000));
    t.expect(10, seg(".").ack(1));
    t.inject(20, seg(".").seq(2001).len(1000));
    t.expect(20, seg(".").ack(1));
    t.inject(30, seg(".").seq(1).len(1000));
    t.expect(30, seg(".").ack(3001));
    // Old data too.
    t.inject(40, seg(".").seq(1).len(1000));
    t.expect(40, seg(".").ack(3001));
}

#[test]
fn the_old_receiver_waits_for_a_third_of_the_window_or_its_clock() {
    // J-A13: 35 % of the window, or the tick of a free-running 200 ms clock.
    let setup = plain().with(|c| c.rcv_buf = 10_000).with_policies(|s| s.ack = choose("bsd43"));
    let mut t = open(&setup);
    for i in 0..3 {
        t.inject(210 + i, seg(".").seq(1 + 1000 * i as u32).len(1000));
    }
    t.expect_silence(213);
    t.inject(213, seg(".").seq(3001).len(1000));
    t.expect(213, seg(".").ack(4001));
    t.inject(250, seg(".").seq(4001).len(1000));
    t.expect(400, seg(".").ack(5001));
}

#[test]
fn data_is_retransmitted_with_doubled_timeouts_until_the_connection_is_aborted() {
    let mut t = open(&plain());
    t.write(1000);
    t.expect(0, seg(".").seq(1).len(1000));
    let mut at = 0;
    for doublings in [0, 1, 2, 3, 4, 5, 6, 6, 6, 6] {
        at += 1000 << doublings;
        t.expect(at, seg(".").seq(1).len(1000));
    }
    t.run_to(3_600_000);
    t.skip_to_event(ConnectionEvent::Aborted(AbortReason::Timeout));
    let stats = t.endpoint.connection.stats();
    assert_eq!(stats.timeouts_by_round[..3], [1, 1, 1]);
    assert_eq!(stats.retransmitted_segments, 15, "R2 of the backoff");
    // A reset notifies the peer, if it still exists (RFC 9293 §3.8.3).
    assert!(t.take_sent().last().unwrap().1.flags.has(ackclock_wire::Flags::RST));
}

#[test]
fn a_window_of_data_times_out_from_its_oldest_segment() {
    // RFC 6298 §5.1-5.3: an ack of new data restarts the timer.
    let mut t = open(&plain());
    t.write(3000);
    for _ in 0..3 {
        t.expect(0, seg(".").len(1000));
    }
    t.inject(600, seg(".").ack(1001));
    t.expect_silence(1599);
    t.run_to(1700);
    let sent = t.take_sent();
    assert_eq!((sent[0].0.as_nanos() / 1_000_000, sent[0].1.seq.0), (1_600, 1000 + 1001), "{t}");
    assert_eq!(sent.len(), 1, "one segment after a timeout (RFC 5681 §3.1)");
}

#[test]
fn karn_keeps_the_backed_off_timeout_until_a_valid_sample() {
    // RFC 6298 §5.5-5.7 and Karn (E-A2).
    for (karn, next) in [(true, 2000), (false, 1000)] {
        let mut t = open(&plain().with(|c| c.karn_backoff = karn));
        t.write(1000);
        t.expect(0, seg(".").seq(1));
        t.expect(1000, seg(".").seq(1));
        t.inject(1500, seg(".").ack(1001));
        // The ack is ambiguous: no sample.
        t.write(1000);
        t.expect(1500, seg(".").seq(1001));
        t.expect_silence(1500 + next - 1);
        t.expect(1500 + next, seg(".").seq(1001));
    }
}

#[test]
fn the_user_timeout_ends_a_connection_whose_data_is_not_acknowledged() {
    // RFC 5482, RFC 9293 §3.8.3.
    let mut t = open(&plain().with(|c| c.user_timeout = Duration::from_secs(10)));
    t.run_to(60_000);
    assert_eq!(t.state(), State::Established, "an idle connection stays open");
    t.write(1000);
    t.run_to(65_000);
    t.inject(65_000, seg(".").ack(501));
    t.take_sent();
    t.run_to(74_999);
    assert_eq!(t.state(), State::Established, "progress restarts it");
    t.run_to(75_000);
    t.skip_to_event(ConnectionEvent::Aborted(AbortReason::Timeout));
}

#[test]
fn an_idle_connection_is_probed_and_aborted() {
    // RFC 9293 §3.8.4.
    let setup = plain().with(|c| {
        (c.keepalive, c.keepalive_interval, c.keepalive_probes) =
            (Duration::from_secs(100), Duration::from_secs(10), 3)
    });
    let mut t = open(&setup);
    let probe = t.expect(100_000, seg(".").seq(0).len(0));
    assert_eq!(probe.ack.0, 50_001);
    t.inject(100_050, seg(".").ack(1));
    t.expect_silence(200_049);
    t.expect(200_050, seg(".").seq(0));
    t.expect(210_050, seg(".").seq(0));
    t.expect(220_050, seg(".").seq(0));
    t.expect_silence(230_049);
    t.run_to(230_050);
    t.skip_to_event(ConnectionEvent::Aborted(AbortReason::KeepaliveTimeout));
}

#[test]
fn keepalive_is_off_by_default() {
    let mut t = open(&plain());
    t.expect_silence(7 * 86_400_000);
    assert_eq!(t.state(), State::Established);
}

#[test]
fn a_keepalive_probe_of_the_peer_is_acknowledged() {
    let mut t = open(&plain());
    t.inject(10, seg(".").seq(0).ack(1));
    t.expect(10, seg(".").seq(1).ack(1));
    // The older form, with one byte of old data.
    t.inject(20, seg(".").seq(0).ack(1).len(1));
    t.expect(20, seg(".").seq(1).ack(1));
    assert_eq!(t.endpoint.connection.readable(), 0);
}

#[test]
fn after_an_idle_timeout_the_window_starts_again_from_the_restart_window() {
    // RFC 5681 §4.1, J-A12.
    for restart in [true, false] {
        let mut t = open(&plain().with(|c| c.idle_restart = restart));
        let mut next = 1;
        // Slow start from ten segments to twenty, with data waiting all the while.
        t.write(30_000);
        assert_eq!(t.take_sent().len(), 10);
        for _ in 0..10 {
            next += 1000;
            t.inject(10, seg(".").ack(next));
        }
        assert_eq!((t.take_sent().len(), t.endpoint.connection.view(t.now()).window.cwnd), (20, 20_000));
        t.inject(20, seg(".").ack(30_001));
        let grown = t.endpoint.connection.view(t.now()).window.cwnd / 1000;
        t.run_to(60_000);
        t.write(30_000);
        assert_eq!(t.take_sent().len() as u64, if restart { 10 } else { grown }, "{t}");
    }
}

#[test]
fn idling_is_measured_by_either_threshold_from_either_moment() {
    // J-A12, footnote 23. A window grown to twenty segments; the peer sends 300 ms before new data is
    // written. The timeout is 1 s, the round trip 10 ms.
    let restarts = |after: IdleAfter, since: IdleSince, idle: u64| {
        let mut t = open(&plain().with(|c| (c.idle_after, c.idle_since) = (after, since)));
        t.write(20_000);
        assert_eq!(t.take_sent().len(), 10);
        (1..=10).for_each(|n| t.inject(10, seg(".").ack(1 + 1000 * n)));
        assert_eq!(t.take_sent().len(), 10);
        t.inject(20, seg(".").ack(20_001));
        assert_eq!(
            t.endpoint.connection.view(t.now()).rtt.expect("sampled").latest,
            Duration::from_millis(10)
        );
        t.inject(20 + idle - 300, seg("P.").seq(1).ack(20_001).len(10));
        t.run_to(20 + idle);
        t.take_sent();
        t.write(40_000);
        t.take_sent().len() == 10
    };
    use {IdleAfter::*, IdleSince::*};
    assert!(restarts(Rto, Send, 1500) && !restarts(Rto, Send, 900));
    assert!(!restarts(Rto, Receive, 1500), "300 ms since the last receive");
    assert!(restarts(Rtt, Send, 900) && restarts(Rtt, Receive, 900), "both are longer than a round trip");
}

#[test]
fn after_a_spurious_timeout_the_first_new_sample_may_set_the_timer() {
    // RFC 4015 §3.6, step 11. Samples of 100 ms, a delay spike of 1.4 s, 100 ms again.
    let after = |adapt: &str| {
        let setup =
            Setup::default().with(|c| (c.window_scaling, c.timestamps) = (false, true)).with_policies(|s| {
                s.undo = choose("eifel");
                s.undo.set("adapt_timer", adapt).expect("a parameter");
            });
        let mut t =
            Timeline::connected(&setup, seg("S.").ack(1).mss(1000).timestamps(1, 1).sack_permitted(true));
        let stamp = |s: &Segment| s.options.timestamps.expect("negotiated").tsval;
        t.write(6000);
        let sent = t.take_sent();
        let (first, len) = (stamp(&sent[0].1), sent[0].1.len);
        t.inject(100, seg(".").ack(1 + len).timestamps(2, first));
        let before = t.endpoint.connection.view(t.now()).rtt.expect("sampled");
        t.run_to(1400);
        t.take_sent();
        t.inject(1500, seg(".").ack(1 + 2 * len).timestamps(3, first));
        assert_eq!(t.endpoint.connection.stats().spurious_timeouts, 1);
        t.write(3000);
        let again = t.take_sent();
        let (_, new) = again.first().expect("new data");
        let start = new.seq.bytes_since(sent[0].1.seq) + 1;
        // What was outstanding is acknowledged first, then the new data: only that sample counts.
        t.inject(1550, seg(".").ack(start).timestamps(4, first));
        t.inject(1600, seg(".").ack(start + new.len).timestamps(5, stamp(new)));
        (before, t.endpoint.connection.view(t.now()).rtt.expect("sampled"))
    };
    let (before, adapted) = after("true");
    // SRTT is no lower than before and two granules of 1 ms, RTTVAR no lower than before nor than half of the
    // sample.
    assert_eq!(adapted.srtt, (before.srtt + Duration::from_millis(2)).max(Duration::from_millis(100)));
    assert_eq!(adapted.rttvar, before.rttvar.max(Duration::from_millis(50)));
    let (_, plain) = after("false");
    assert!(plain.srtt > adapted.srtt * 2, "the spike counts as samples: {plain:?}");
}

#[test]
fn fast_retransmit_comes_with_the_third_duplicate() {
    // RFC 5681 §3.2, without SACK and with it.
    for sack in [false, true] {
        let setup =
            Setup::default().with(|c| (c.sack, c.window_scaling) = (sack, false)).with_policies(|s| {
                if !sack {
                    s.recovery = choose("newreno")
                }
            });
        let mut t = Timeline::connected(&setup, syn_ack().sack_permitted(sack));
        t.write(10_000);
        assert_eq!(t.take_sent().len(), 10);
        for i in 1..=3_u32 {
            let mut dup = seg(".").ack(1);
            if sack {
                dup = dup.sack(1001, 1001 + 1000 * i);
            }
            t.inject(u64::from(i) * 10, dup);
            let again: Vec<_> = t.take_sent().into_iter().filter(|(_, s)| s.seq.0 == 1001).collect();
            assert_eq!(again.len(), usize::from(i == 3), "after {i} duplicates\n{t}");
        }
        assert_eq!(t.endpoint.connection.stats().fast_recoveries, 1);
        t.inject(100, seg(".").ack(10_001));
        assert_eq!(t.endpoint.connection.stats().timeouts, 0);
        assert_eq!(t.endpoint.connection.stats().ca_events, 1);
    }
}

#[test]
fn duplicate_acks_after_go_back_n_release_nothing() {
    // Go-back-N assumes that everything outstanding is lost: a duplicate ack reports a segment that no longer
    // counts as in the network (J-A14, J-A16, RFC 5681 §3.1: the loss window is one segment).
    let setup = |recovery: &str| plain().with_policies(|s| s.recovery = choose(recovery));
    let mut t = open(&setup("tahoe"));
    t.write(20_000);
    assert_eq!(t.take_sent().len(), 10);
    (1..=3).for_each(|i| t.inject(10 * i, seg(".").ack(1)));
    let again: Vec<_> = t.take_sent().into_iter().filter(|(_, s)| s.seq.0 < 11_001).collect();
    assert_eq!(again.len(), 1, "the third duplicate retransmits the first segment\n{t}");
    (4..=11).for_each(|i| t.inject(10 * i, seg(".").ack(1)));
    assert_eq!(t.take_sent().len(), 0, "{t}");
    t.inject(200, seg(".").ack(2001));
    assert_eq!(t.take_sent().len(), 2, "slow start from one segment\n{t}");

    for recovery in ["timeout-only", "tahoe", "reno", "newreno"] {
        let mut t = open(&setup(recovery));
        t.write(20_000);
        assert_eq!(t.take_sent().len(), 10);
        t.run_to(1500);
        assert_eq!(t.take_sent().len(), 1, "{recovery}: the timer expires\n{t}");
        (1..=9).for_each(|i| t.inject(1500 + 10 * i, seg(".").ack(1)));
        assert_eq!(t.take_sent().len(), 0, "{recovery}\n{t}");
        t.inject(1700, seg(".").ack(2001));
        assert_eq!(t.take_sent().len(), 2, "{recovery}\n{t}");
    }
}

#[test]
fn a_window_update_is_no_duplicate() {
    // RFC 5681 §2: same window, no data, no SYN or FIN.
    let mut t = open(&plain().with_policies(|s| s.recovery = choose("newreno")));
    t.write(10_000);
    t.take_sent();
    for i in 0..5 {
        t.inject(10 + i, seg(".").ack(1).window(40_000 + i as u16));
    }
    for i in 0..5 {
        t.inject(20 + i, seg("P.").seq(1 + 10 * i as u32).ack(1).len(10).window(40_004));
    }
    assert!(t.take_sent().iter().all(|(_, s)| s.seq.0 != 1001), "{t}");
}

#[test]
fn limited_transmit_sends_new_data_on_the_first_two_duplicates() {
    // RFC 3042.
    let mut t = open(&plain().with_policies(|s| s.recovery = choose("newreno")));
    t.write(20_000);
    assert_eq!(t.take_sent().len(), 10);
    for i in 1..=2 {
        t.inject(10 * i, seg(".").ack(1));
        t.expect(10 * i, seg(".").seq(10_001 + 1000 * (i as u32 - 1)).len(1000));
    }
}
