//! Options on an established connection: timestamps and PAWS, SACK and DSACK, ECN.

use ackclock_engine::{Config, RttSampling, State};
use ackclock_policy::AckPolicy;
use ackclock_testkit::timeline::{Seg, Timeline, seg};
use ackclock_testkit::{Setup, choose};
use ackclock_units::Ecn;

fn syn_ack() -> Seg {
    seg("S.").ack(1).mss(1012).sack_permitted(true)
}

/// With timestamps; TSval of the peer's SYN-ACK is 1000.
fn stamped() -> Timeline {
    let setup = Setup::default()
        .with(|c| (c.timestamps, c.window_scaling) = (true, false))
        .with_policies(|s| s.ack = choose("every"));
    Timeline::connected(&setup, syn_ack().timestamps(1000, 1))
}

/// Without timestamps, with SACK.
fn sacked() -> Timeline {
    let setup =
        Setup::default().with(|c| c.window_scaling = false).with_policies(|s| s.ack = choose("every"));
    Timeline::connected(&setup, syn_ack().mss(1000))
}

#[test]
fn every_segment_carries_our_clock_and_the_peers_last_one() {
    let mut t = stamped();
    t.write(3000);
    let first = t.expect(0, seg(".").len(1000).echo(1000)).options.timestamps.unwrap();
    t.expect(0, seg(".").len(1000).echo(1000));
    t.take_sent();
    t.inject(100, seg("P.").seq(1).ack(3001).len(10).timestamps(1100, first.tsval));
    let ack = t.expect(100, seg(".").echo(1100)).options.timestamps.unwrap();
    assert_eq!(ack.tsval.wrapping_sub(first.tsval), 100, "our clock counts milliseconds");
}

#[test]
fn the_echo_follows_what_was_acknowledged_last() {
    // RFC 7323 §4.3, the three rules, on the example of §4.3: delayed acks, and a hole.
    let setup = Setup::default().with(|c| (c.timestamps, c.window_scaling) = (true, false));
    let mut t = Timeline::connected(&setup, syn_ack().timestamps(1000, 1));
    // (A) With delayed acks the echo is that of the first segment not acknowledged, not of the last.
    t.inject(10, seg(".").seq(1).len(1000).timestamps(1010, 1));
    t.inject(11, seg(".").seq(1001).len(1000).timestamps(1011, 1));
    t.expect(11, seg(".").ack(2001).echo(1010));
    // (B) Behind a hole the echo stays at the last segment that advanced the window.
    t.inject(20, seg(".").seq(3001).len(1000).timestamps(1020, 1));
    t.expect(20, seg(".").ack(2001).echo(1010));
    t.inject(21, seg(".").seq(4001).len(1000).timestamps(1021, 1));
    t.expect(21, seg(".").ack(2001).echo(1010));
    // (C) What fills the hole is echoed.
    t.inject(30, seg(".").seq(2001).len(1000).timestamps(1030, 1));
    t.expect(30, seg(".").ack(5001).echo(1030));
}

#[test]
fn a_segment_with_an_older_timestamp_is_dropped() {
    // RFC 7323 §5.3 R1: dropped, acknowledged.
    let mut t = stamped();
    t.inject(10, seg("P.").seq(1).len(10).timestamps(2000, 1));
    t.expect(10, seg(".").ack(11).echo(2000));
    t.inject(20, seg("P.").seq(11).len(10).timestamps(1999, 1));
    t.expect(20, seg(".").ack(11).echo(2000));
    t.read(10);
    assert_eq!(t.endpoint.connection.readable(), 0, "an old duplicate in the window is not delivered");
    t.inject(30, seg("P.").seq(11).len(10).timestamps(2000, 1));
    t.read(10);
}

#[test]
fn a_wrapped_clock_is_newer_and_an_outdated_one_is_accepted() {
    let setup = Setup::default().with(|c| c.timestamps = true).with_policies(|s| s.ack = choose("every"));
    let mut t = Timeline::connected(&setup, syn_ack().timestamps(u32::MAX - 5, 1));
    t.inject(10, seg("P.").seq(1).len(10).timestamps(3, 1));
    t.expect(10, seg(".").ack(11).echo(3));
    t.read(10);
    // RFC 7323 §5.5: after more than 24 days the peer's clock may have advanced by half its range; its
    // timestamp counts.
    let days = 25 * 86_400_000;
    t.inject(days, seg("P.").seq(11).len(10).timestamps(0x8000_0010, 1));
    t.expect(days, seg(".").ack(21));
    t.read(10);
}

#[test]
fn a_segment_without_the_negotiated_timestamps_is_dropped_but_a_reset_counts() {
    // RFC 7323 §3.2: silently.
    let mut t = stamped();
    t.inject(10, seg("P.").seq(1).len(10));
    assert_eq!(t.endpoint.connection.readable(), 0);
    assert_eq!(t.take_sent(), vec![]);
    t.inject(20, seg("R").seq(1));
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn a_reset_with_an_old_timestamp_counts() {
    // RFC 7323 §5.3: PAWS does not apply to a RST.
    let mut t = stamped();
    t.inject(10, seg("R").seq(1).timestamps(5, 1));
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn timestamps_distinguish_a_retransmission_from_its_original() {
    // RFC 7323 §4: the sample of a retransmitted segment is that of the transmission echoed; RFC 3522: an
    // echo older than the retransmission means that it was spurious.
    let mut t = stamped();
    t.write(1000);
    let original = t.expect(0, seg("P.").len(1000)).options.timestamps.unwrap().tsval;
    t.expect(1000, seg("P.").seq(1).len(1000));
    t.inject(1010, seg(".").ack(1001).timestamps(1500, original));
    let stats = t.endpoint.connection.stats();
    assert_eq!((stats.spurious_timeouts, stats.rtt_max.as_millis()), (1, 1010));

    let mut t = stamped();
    t.write(1000);
    t.expect(0, seg("P.").len(1000));
    let copy = t.expect(1000, seg("P.").seq(1).len(1000)).options.timestamps.unwrap().tsval;
    t.inject(1040, seg(".").ack(1001).timestamps(1500, copy));
    let stats = t.endpoint.connection.stats();
    assert_eq!((stats.spurious_timeouts, stats.rtt_max.as_millis()), (0, 40));
}

#[test]
fn without_timestamps_a_retransmitted_segment_gives_no_sample() {
    // Karn's rule (RFC 6298 §3).
    let mut t = sacked();
    t.write(1000);
    t.expect(0, seg(".").len(1000));
    t.expect(1000, seg(".").len(1000));
    let before = t.endpoint.connection.stats().rtt_samples;
    t.inject(1010, seg(".").ack(1001));
    assert_eq!(t.endpoint.connection.stats().rtt_samples, before);
}

#[test]
fn without_karns_rule_a_timing_goes_on_through_retransmissions() {
    // 4.3BSD before 1988: one segment is timed, from its first transmission to its ack, whatever happens in
    // between (J-A16).
    for (karn, samples) in [(true, 0), (false, 1)] {
        let options = |c: &mut Config| {
            (c.window_scaling, c.rtt_sampling, c.karn_samples) = (false, RttSampling::OncePerRtt, karn)
        };
        let mut t = Timeline::connected(&Setup::default().with(options), syn_ack().mss(1000));
        t.write(1000);
        t.expect(0, seg(".").len(1000));
        t.expect(1000, seg(".").len(1000));
        let before = t.endpoint.connection.stats().rtt_samples;
        t.inject(1300, seg(".").ack(1001));
        let stats = t.endpoint.connection.stats();
        assert_eq!(stats.rtt_samples - before, samples);
        assert_eq!(stats.rtt_max.as_millis() >= 1300, !karn, "from the first transmission on");
    }
}

#[test]
fn an_old_receiver_delays_acks_of_out_of_order_segments() {
    // 4.3BSD before fast retransmit; since then a gap is acknowledged at once (RFC 5681 §4.2).
    for hold in ["true", "false"] {
        let mut ack = choose::<dyn AckPolicy>("bsd43");
        ack.set("hold_out_of_order", hold).expect("a flag");
        let setup = Setup::default()
            .with(|c| (c.window_scaling, c.sack) = (false, false))
            .with_policies(|s| s.ack = ack.clone());
        let mut t = Timeline::connected(&setup, seg("S.").ack(1).mss(1000));
        t.inject(10, seg(".").seq(1001).len(1000));
        if hold == "true" {
            t.expect_silence(199);
            t.expect(200, seg(".").ack(1));
        } else {
            t.expect(10, seg(".").ack(1));
        }
    }
}

#[test]
fn holes_are_reported_the_latest_first() {
    // RFC 2018 §4.
    let mut t = sacked();
    t.inject(0, seg(".").seq(1001).len(1000));
    t.expect(0, seg(".").ack(1).sack(1001, 2001));
    t.inject(1, seg(".").seq(3001).len(1000));
    t.expect(1, seg(".").ack(1).sack(3001, 4001).sack(1001, 2001));
    t.inject(2, seg(".").seq(5001).len(1000));
    t.expect(2, seg(".").ack(1).sack(5001, 6001).sack(3001, 4001).sack(1001, 2001));
    t.inject(3, seg(".").seq(7001).len(1000));
    t.expect(3, seg(".").ack(1).sack(7001, 8001).sack(5001, 6001).sack(3001, 4001).sack(1001, 2001));
    // A fifth block replaces the oldest; one that grows comes first.
    t.inject(4, seg(".").seq(9001).len(1000));
    t.expect(4, seg(".").sack(9001, 10_001).sack(7001, 8001).sack(5001, 6001).sack(3001, 4001));
    t.inject(5, seg(".").seq(4001).len(1000));
    // A replaced block is reported again when there is room.
    t.expect(5, seg(".").sack(3001, 6001).sack(9001, 10_001).sack(7001, 8001).sack(1001, 2001));
    t.inject(6, seg(".").seq(1).len(1000));
    t.expect(6, seg(".").ack(2001).sack(3001, 6001).sack(9001, 10_001).sack(7001, 8001));
    t.inject(7, seg(".").seq(2001).len(1000));
    t.expect(7, seg(".").ack(6001).sack(9001, 10_001).sack(7001, 8001));
    t.inject(8, seg(".").seq(6001).len(1000));
    t.inject(9, seg(".").seq(8001).len(1000));
    t.expect(8, seg(".").ack(8001).sack(9001, 10_001));
    t.expect(9, seg(".").ack(10_001).no_sack());
    t.read(10_000);
}

#[test]
fn with_timestamps_there_is_room_for_three_blocks() {
    let mut t = stamped();
    for i in 0..5 {
        t.inject(i, seg(".").seq(1001 + 2000 * i as u32).len(1000).timestamps(1001, 1));
    }
    t.run_to(5);
    let last = t.take_sent().pop().unwrap().1;
    assert_eq!((last.options.sack.len(), last.options.wire_len()), (3, 40));
}

#[test]
fn a_duplicate_segment_is_reported_once_and_first() {
    // RFC 2883 §4: below the acknowledgment, inside a hole's far side, and both.
    let mut t = sacked();
    t.inject(0, seg(".").seq(1).len(1000));
    t.expect(0, seg(".").ack(1001).no_sack());
    t.inject(1, seg(".").seq(1).len(1000));
    t.expect(1, seg(".").ack(1001).sack(1, 1001));
    t.inject(2, seg(".").seq(2001).len(1000));
    t.expect(2, seg(".").ack(1001).sack(2001, 3001));
    t.inject(3, seg(".").seq(2001).len(1000));
    t.expect(3, seg(".").ack(1001).sack(2001, 3001).sack(2001, 3001));
    t.inject(4, seg(".").seq(501).len(500));
    t.expect(4, seg(".").ack(1001).sack(501, 1001).sack(2001, 3001));
    // Half old, half new: the old half is reported.
    t.inject(5, seg(".").seq(501).len(1000));
    t.expect(5, seg(".").ack(1501).sack(501, 1001).sack(2001, 3001));
    t.inject(6, seg(".").seq(1501).len(500));
    t.expect(6, seg(".").ack(3001).no_sack());
    assert_eq!(t.endpoint.connection.stats().duplicate_segments, 3);
    t.read(3000);
}

#[test]
fn a_dsack_after_the_hole_is_filled_reports_only_itself() {
    let mut t = sacked();
    t.inject(0, seg(".").seq(1001).len(1000));
    t.inject(1, seg(".").seq(1).len(1000));
    t.take_sent();
    t.inject(2, seg(".").seq(1).len(1000));
    t.expect(2, seg(".").ack(2001).sack(1, 1001));
    t.inject(3, seg(".").seq(2001).len(10));
    t.expect(3, seg(".").ack(2011).no_sack());
}

#[test]
fn invalid_sack_blocks_do_no_harm() {
    let mut t = sacked();
    t.write(5000);
    t.take_sent();
    // Reversed, never sent, below the acknowledgment, everything, parts of segments.
    for (i, (start, end)) in
        [(3001, 2001), (50_000, 60_000), (1, 1), (0x8000_0000, 0x8000_1000), (1501, 1702), (0, u32::MAX)]
            .into_iter()
            .enumerate()
    {
        t.inject(10 + i as u64, seg(".").ack(1).sack(start, end));
    }
    t.inject(20, seg(".").ack(5001));
    assert_eq!(t.endpoint.connection.unacked(), 0);
    t.write(1000);
    t.take_sent();
    t.inject(40, seg(".").ack(6001));
    assert_eq!(t.endpoint.connection.unacked(), 0);
}

#[test]
fn data_is_retransmitted_to_a_receiver_that_reneges() {
    // RFC 2018 §8: the receiver may discard SACKed data; after a timeout it is retransmitted.
    let mut t = sacked();
    t.write(4000);
    t.take_sent();
    t.inject(10, seg(".").ack(1).sack(1001, 4001));
    t.run_to(900);
    t.take_sent();
    // The first segment arrives, and the SACKed data was discarded.
    t.inject(900, seg(".").ack(1001));
    t.run_to(200_000);
    let again: Vec<u32> = t.take_sent().iter().map(|(_, s)| s.seq.0 - 1000).collect();
    assert!(again.contains(&1001), "{again:?}\n{t}");
}

fn ecn() -> Setup {
    Setup::default()
        .with(|c| (c.ecn, c.window_scaling) = (true, false))
        .with_policies(|s| s.ack = choose("every"))
}

#[test]
fn ecn_is_negotiated() {
    // RFC 3168 §6.1.1.
    let mut t = Timeline::connected(&ecn(), seg("SE.").ack(1).mss(1000));
    t.write(1000);
    t.expect(0, seg(".").len(1000).ecn(Ecn::Ect0));
    t.inject(10, seg("P.").ack(1001).len(10));
    // Pure acks are not ECN-capable (§6.1.4).
    t.expect(10, seg(".").len(0).ecn(Ecn::NotEct));

    let mut t = Timeline::new(&ecn());
    t.as_mut().listen();
    t.inject(0, seg("SEW").mss(1000));
    t.expect(0, seg("SE.").ecn(Ecn::NotEct));
}

#[test]
fn ecn_is_not_used_without_agreement() {
    for reply in ["S.", "SEW."] {
        // A SYN-ACK that reflects both flags comes from broken equipment, and does not agree (§6.1.1).
        let mut t = Timeline::connected(&ecn(), seg(reply).ack(1).mss(1000));
        t.write(1000);
        t.expect(0, seg(".").len(1000).ecn(Ecn::NotEct));
    }
    let mut t = Timeline::new(&ecn());
    t.as_mut().listen();
    t.inject(0, seg("S").mss(1000));
    t.expect(0, seg("S."));
    // A server without ECN does not agree.
    let mut t = Timeline::new(&ecn().with(|c| c.ecn = false));
    t.as_mut().listen();
    t.inject(0, seg("SEW").mss(1000));
    t.expect(0, seg("S."));
}

#[test]
fn a_retransmitted_syn_does_not_ask_for_ecn() {
    // RFC 3168 §6.1.1.1.
    let mut t = Timeline::new(&ecn());
    t.connect();
    t.expect(0, seg("SEW"));
    t.expect(1000, seg("S"));
}

#[test]
fn congestion_experienced_is_echoed_until_the_sender_reduced() {
    // RFC 3168 §6.1.3.
    let mut t = Timeline::connected(&ecn(), seg("SE.").ack(1).mss(1000));
    t.inject(10, seg("P.").seq(1).len(10).ecn(Ecn::Ect0));
    t.expect(10, seg(".").ack(11));
    t.inject(20, seg("P.").seq(11).len(10).ecn(Ecn::Ce));
    t.expect(20, seg("E.").ack(21));
    t.inject(30, seg("P.").seq(21).len(10).ecn(Ecn::Ect0));
    t.expect(30, seg("E.").ack(31));
    t.inject(40, seg("PW.").seq(31).len(10).ecn(Ecn::Ect0));
    t.expect(40, seg(".").ack(41));
    // CWR on a packet that is marked itself: the echo goes on.
    t.inject(50, seg("PW.").seq(41).len(10).ecn(Ecn::Ce));
    t.expect(50, seg("E.").ack(51));
}

#[test]
fn an_echo_reduces_the_window_once_per_window_and_sets_cwr() {
    // RFC 3168 §6.1.2.
    let mut t = Timeline::connected(&ecn(), seg("SE.").ack(1).mss(1000));
    t.write(60_000);
    assert_eq!(t.take_sent().len(), 10);
    let before = t.endpoint.connection.view(t.now()).window.cwnd;
    t.inject(100, seg("E.").ack(1001));
    let after = t.endpoint.connection.view(t.now()).window.cwnd;
    assert!(after <= before * 6 / 10, "from {before} to {after}");
    for i in 2..10 {
        t.inject(100 + i, seg("E.").ack(1 + 1000 * i as u32));
    }
    let sent = t.take_sent();
    assert_eq!(t.endpoint.connection.stats().ecn_reductions, 1, "once per window of data");
    let first_new = sent.iter().find(|(_, s)| s.len > 0).unwrap_or_else(|| panic!("nothing new\n{t}"));
    assert!(first_new.1.flags.has(ackclock_wire::Flags::CWR), "{t}");
    assert_eq!(sent.iter().filter(|(_, s)| s.flags.has(ackclock_wire::Flags::CWR)).count(), 1);
}

#[test]
fn retransmissions_are_not_ecn_capable() {
    // RFC 3168 §6.1.5.
    let mut t = Timeline::connected(&ecn(), seg("SE.").ack(1).mss(1000));
    t.write(1000);
    t.expect(0, seg(".").ecn(Ecn::Ect0));
    t.expect(1000, seg(".").seq(1).len(1000).ecn(Ecn::NotEct));
}
