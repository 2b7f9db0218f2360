//! Opening a connection: RFC 9293 §3.5 and §3.10, RFC 6298 §5.7, B-A6.

use ackclock_engine::{AbortReason, ConnectionEvent, State};
use ackclock_testkit::timeline::{Timeline, ms, seg};
use ackclock_testkit::{Setup, choose};

fn plain() -> Setup {
    Setup::default().with(|c| (c.sack, c.window_scaling) = (false, false))
}

#[test]
fn an_active_open_offers_what_is_configured() {
    let setup = Setup::default().with(|c| (c.timestamps, c.rcv_buf) = (true, 1 << 20));
    let mut t = Timeline::new(&setup);
    t.connect();
    // 2^20 bytes need a shift of 5; the window of a SYN is not scaled (RFC 7323 §2.2).
    let syn = t.expect(0, seg("S").seq(0).len(0).mss(1460).scale(5).sack_permitted(true).window(65_535));
    assert_eq!(syn.options.timestamps.map(|ts| ts.tsecr), Some(0), "nothing to echo yet (RFC 7323 §3.2)");
    assert_eq!(t.state(), State::SynSent);
}

#[test]
fn three_way_handshake_from_both_ends() {
    let mut t = Timeline::connected(&plain(), seg("S.").seq(0).ack(1).mss(1000));
    assert_eq!(t.state(), State::Established);
    t.write(3000);
    for seq in [1, 1001, 2001] {
        t.expect(0, seg(".").seq(seq).len(1000));
    }

    let mut t = Timeline::new(&plain());
    t.as_mut().listen();
    t.inject(0, seg("S").mss(1000));
    t.expect(0, seg("S.").seq(0).ack(1).mss(1460).no_scale().sack_permitted(false).no_timestamps());
    assert_eq!(t.state(), State::SynReceived);
    t.inject(100, seg(".").seq(1).ack(1));
    assert_eq!(t.state(), State::Established);
    t.expect_event(ConnectionEvent::Established);
    t.expect_silence(10_000);
}

#[test]
fn a_listener_responds_to_stray_segments_and_ignores_resets() {
    let mut t = Timeline::new(&plain());
    t.as_mut().listen();
    // RFC 9293 §3.10.7.2: a RST is ignored, an ACK elicits a RST, anything else is dropped.
    t.inject(0, seg("R"));
    t.inject(0, seg("."));
    let reset = t.expect(0, seg("R").seq(1));
    assert_eq!(reset.ack.0, 0);
    t.inject(0, seg("P").len(5));
    t.inject(0, seg("F"));
    t.expect_silence(100);
    assert_eq!(t.state(), State::Listen);
}

#[test]
fn syn_sent_accepts_only_segments_that_acknowledge_the_syn() {
    let mut t = Timeline::new(&plain());
    t.connect();
    t.expect(0, seg("S"));
    // RFC 9293 §3.10.7.3: an unacceptable ACK elicits a RST with its number, and nothing else happens.
    for ack in [0, 2, 77] {
        t.inject(0, seg("S.").ack(ack));
        t.expect(0, seg("R").seq(ack));
        t.inject(0, seg("R.").ack(ack));
    }
    // A RST that acknowledges nothing is dropped.
    t.inject(0, seg("R"));
    // So are data and FIN without SYN.
    t.inject(0, seg(".").len(10).seq(1));
    t.inject(0, seg("F."));
    t.expect_silence(0);
    assert_eq!(t.state(), State::SynSent);
    t.inject(10, seg("R.").ack(1));
    t.expect_event(ConnectionEvent::Aborted(AbortReason::Refused));
    assert_eq!(t.state(), State::Closed);
    t.expect_silence(100_000);
}

#[test]
fn a_simultaneous_open_ends_established() {
    // RFC 9293 §3.5, figure 7.
    let mut t = Timeline::new(&plain());
    t.connect();
    t.expect(0, seg("S"));
    t.inject(50, seg("S").mss(1460));
    t.expect(50, seg("S.").seq(0).ack(1));
    assert_eq!(t.state(), State::SynReceived);
    t.inject(100, seg("S.").seq(0).ack(1).mss(1460));
    assert_eq!(t.state(), State::Established);
    t.expect_event(ConnectionEvent::Established);
    t.write(100);
    t.take_sent();
    t.inject(150, seg(".").seq(1).ack(101));
    assert_eq!(t.endpoint.connection.unacked(), 0);
}

#[test]
fn a_syn_is_retransmitted_with_doubled_intervals_up_to_its_limit() {
    for (retries, moments, end) in [
        (3, &[0, 1000, 3000, 7000][..], 15_000),
        (5, &[0, 1000, 3000, 7000, 15_000, 31_000][..], 63_000),
        (6, &[0, 1000, 3000, 7000, 15_000, 31_000, 63_000][..], 127_000),
        (0, &[0][..], 1000),
    ] {
        let mut t = Timeline::new(&plain().with(|c| c.syn_retries = retries));
        t.connect();
        for &at in moments {
            t.expect(at, seg("S").seq(0).mss(1460));
        }
        t.expect_silence(end - 1);
        assert_eq!(t.state(), State::SynSent);
        t.expect_silence(end);
        t.expect_event(ConnectionEvent::Aborted(AbortReason::SynTimeout));
        assert_eq!(t.endpoint.connection.stats().syn_retransmissions, retries);
    }
}

#[test]
fn without_backoff_a_syn_is_retransmitted_at_even_intervals() {
    let setup = plain().with_policies(|s| s.backoff = choose("none"));
    let mut t = Timeline::new(&setup);
    t.connect();
    for at in [0, 1000, 2000, 3000, 4000, 5000, 6000] {
        t.expect(at, seg("S"));
    }
    t.expect_silence(7000);
    t.expect_event(ConnectionEvent::Aborted(AbortReason::SynTimeout));
}

#[test]
fn a_syn_ack_is_retransmitted_up_to_its_limit() {
    let mut t = Timeline::new(&plain().with(|c| c.syn_retries = 2));
    t.as_mut().listen();
    t.inject(0, seg("S"));
    t.expect(0, seg("S.").ack(1));
    // The peer retransmits its SYN, and we our SYN-ACK.
    t.inject(500, seg("S"));
    t.expect(500, seg("S.").ack(1));
    t.expect_within(1000, 1500, seg("S.").ack(1));
    t.expect_within(3000, 3500, seg("S.").ack(1));
    t.run_to(20_000);
    t.expect_event(ConnectionEvent::Aborted(AbortReason::SynTimeout));
}

#[test]
fn after_a_lost_syn_data_begins_with_three_seconds_and_one_segment() {
    // RFC 6298 §5.7; RFC 5681 §3.1.
    let mut t = Timeline::new(&plain());
    t.connect();
    t.expect(0, seg("S"));
    t.expect(1000, seg("S"));
    t.inject(1100, seg("S.").mss(1000));
    t.expect(1100, seg(".").ack(1));
    t.write(5000);
    t.expect(1100, seg(".").seq(1).len(1000));
    t.expect_silence(4099);
    t.expect(4100, seg(".").seq(1).len(1000));
}

#[test]
fn without_a_lost_syn_the_handshake_gives_the_first_sample() {
    // RFC 6298 §2.2: 300 ms gives SRTT 300, RTTVAR 150, RTO 900, raised to a second (§2.4).
    let mut t = Timeline::new(&plain());
    t.connect();
    t.expect(0, seg("S"));
    t.inject(300, seg("S.").mss(1000));
    t.expect(300, seg("."));
    t.write(1000);
    t.expect(300, seg(".").len(1000));
    t.expect(1300, seg(".").seq(1).len(1000));
    assert_eq!(t.endpoint.connection.stats().rtt_min.get(), Some(ms(300).since(ms(0))));
}

#[test]
fn segment_size_is_the_smaller_one_less_the_options_that_every_segment_carries() {
    // There is a floor for tiny announced sizes (docs/departures.md).
    for (announced, timestamps, expected) in [
        (Some(700), false, 700),
        (Some(9000), false, 1460),
        (Some(u16::MAX), true, 1448),
        (None, false, 536),
        (Some(700), true, 688),
        (Some(0), false, 64),
        (Some(1), true, 52),
    ] {
        let mut syn_ack = seg("S.").ack(1);
        if let Some(mss) = announced {
            syn_ack = syn_ack.mss(mss);
        }
        if timestamps {
            syn_ack = syn_ack.timestamps(1, 1);
        }
        let mut t = Timeline::connected(&plain().with(|c| c.timestamps = timestamps), syn_ack);
        t.write(10_000);
        t.expect(0, seg(".").seq(1).len(expected));
    }
}

#[test]
fn options_that_the_peer_did_not_offer_are_not_used() {
    let all = Setup::default().with(|c| c.timestamps = true);
    let mut t = Timeline::connected(&all, seg("S.").mss(1460).window(1000));
    t.write(10);
    t.expect(0, seg("P.").no_timestamps().window(65_535));
    // Out of order, without a SACK block.
    t.inject(10, seg(".").seq(100).ack(11).len(10));
    t.expect(10, seg(".").ack(1).no_sack());

    // Passive open: a SYN without options elicits a SYN-ACK without them.
    let mut t = Timeline::new(&all);
    t.as_mut().listen();
    t.inject(0, seg("S").mss(1460));
    t.expect(0, seg("S.").no_scale().sack_permitted(false).no_timestamps());
    // A SYN with all options elicits a SYN-ACK with all of them.
    let mut t = Timeline::new(&all);
    t.as_mut().listen();
    t.inject(0, seg("S").mss(1460).scale(3).sack_permitted(true).timestamps(77, 0));
    t.expect(0, seg("S.").scale(5).sack_permitted(true).echo(77));
}

#[test]
fn data_on_a_syn_is_kept_until_the_handshake_is_done() {
    // RFC 9293 §3.10.7.2: text with a SYN is allowed. It may be kept or retransmitted; it must not be
    // delivered twice.
    let mut t = Timeline::new(&plain());
    t.as_mut().listen();
    t.inject(0, seg("S").len(5));
    let reply = t.expect(0, seg("S."));
    let kept = reply.ack.0.wrapping_sub(50_000) - 1;
    assert!(kept == 0 || kept == 5, "acknowledges the SYN alone or all of it: {kept}");
    // RFC 9293 §3.5: the SYN may be an old duplicate, so none of its data is delivered before the handshake
    // is complete.
    t.expect_no_event();
    assert_eq!((t.endpoint.connection.readable(), t.as_mut().read(ms(0), &mut [0; 9])), (0, 0));
    assert_eq!(t.as_mut().read_counted(ms(0), 9), 0);
    t.inject(10, seg(".").seq(1 + kept));
    t.inject(20, seg(".").seq(1).len(5));
    t.read(5);
    assert_eq!(t.endpoint.connection.readable(), 0);
}

#[test]
fn data_written_before_the_handshake_is_sent_after_it() {
    let mut t = Timeline::new(&plain());
    t.connect();
    t.expect(0, seg("S"));
    t.write(100);
    t.expect_silence(50);
    t.inject(50, seg("S.").mss(1460));
    let first = t.expect(50, seg("P.").seq(1).ack(1).len(100));
    assert_eq!(first.window, 65_535);
}

#[test]
fn the_user_timeout_ends_an_open_without_a_reply() {
    let mut t = Timeline::new(&plain().with(|c| c.user_timeout = ackclock_units::Duration::from_secs(5)));
    t.connect();
    t.run_to(5000);
    t.expect_event(ConnectionEvent::Aborted(AbortReason::SynTimeout));
}

#[test]
fn a_fin_on_a_syn_does_not_close_what_is_not_open() {
    // RFC 9293 §3.10.7.2 and §3.10.7.3: other controls wait until ESTABLISHED. Port scanners send such
    // segments.
    for passive in [true, false] {
        let mut t = Timeline::new(&plain());
        if passive {
            t.as_mut().listen();
        } else {
            t.connect();
            t.expect(0, seg("S"));
        }
        t.inject(0, seg("SF").mss(1000));
        t.expect(0, seg("S.").seq(0).ack(1));
        assert_eq!(t.state(), State::SynReceived);
        t.write(100);
        t.inject(10, seg(".").seq(1).ack(1));
        t.expect(10, seg("P.").seq(1).len(100));
        assert_eq!(t.state(), State::Established);
        t.inject(20, seg("F.").seq(1).ack(101));
        t.expect(20, seg(".").ack(2));
        assert_eq!(t.state(), State::CloseWait);
    }
    // On a SYN-ACK it counts at once.
    let mut t = Timeline::new(&plain());
    t.connect();
    t.take_sent();
    t.inject(0, seg("SF.").ack(1).mss(1000));
    t.expect(0, seg(".").seq(1).ack(2));
    assert_eq!(t.state(), State::CloseWait);
}

#[test]
fn a_handshake_ends_with_text_that_does_not_fit() {
    // The SYN's text has filled the buffer, and the acknowledgment of our SYN comes with more: the text is
    // refused, the acknowledgment counts (RFC 9293 §3.10.7.4), and our SYN is no byte of the stream.
    let mut t = Timeline::new(&plain().with(|c| c.rcv_buf = 100));
    t.as_mut().listen();
    t.inject(0, seg("S").mss(1000).len(100));
    t.expect(0, seg("S.").seq(0).ack(101).window(0));
    t.inject(50, seg(".").seq(101).ack(1).len(10));
    t.expect(50, seg(".").seq(1).ack(101).window(0));
    assert_eq!(t.state(), State::Established);
    assert_eq!(t.endpoint.connection.stats().bytes_acked, 0);
    t.expect_event(ConnectionEvent::Established);
    t.inject(100, seg(".").seq(101).ack(1));
    assert_eq!(t.endpoint.connection.stats().bytes_acked, 0);
}

#[test]
fn only_where_it_is_chosen_does_a_simultaneous_open_give_a_sample() {
    // RFC 6298 §3: the SYN-ACK repeats the SYN. Linux times it all the same.
    for (time_syn_ack, sample) in [(false, None), (true, Some(ms(250).since(ms(0))))] {
        let mut t = Timeline::new(&plain().with(|c| c.time_syn_ack = time_syn_ack));
        t.connect();
        t.expect(0, seg("S"));
        t.inject(50, seg("S").mss(1460));
        t.expect(50, seg("S.").seq(0).ack(1));
        t.inject(300, seg("S.").seq(0).ack(1).mss(1460));
        assert_eq!(t.state(), State::Established);
        assert_eq!(t.endpoint.connection.stats().rtt_min.get(), sample);
    }
}

#[test]
fn a_lost_syn_ack_is_forgiven_unless_the_peer_has_repeated_its_syn_too() {
    // RFC 5681 §3.1 has one segment after a lost SYN; `tcp_init_transfer` counts what was sent again.
    for (forgive_syn, repeats, segments) in [(false, false, 1), (true, false, 10), (true, true, 1)] {
        let mut t = Timeline::new(&plain().with(|c| c.forgive_syn = forgive_syn));
        t.as_mut().listen();
        t.inject(0, seg("S").mss(1000));
        t.expect(0, seg("S.").ack(1));
        if repeats {
            t.inject(10, seg("S").mss(1000));
            t.expect(10, seg("S.").ack(1));
        }
        t.expect_within(1000, 1010, seg("S.").ack(1));
        t.inject(1100, seg(".").seq(1).ack(1));
        t.write(20_000);
        for i in 0..segments {
            t.expect(1100, seg(".").seq(1 + 1000 * i).len(1000));
        }
        t.expect_silence(1200);
    }
}

#[test]
fn an_echo_of_what_no_syn_ack_said_completes_a_handshake_unless_it_is_checked() {
    for check_echo in [false, true] {
        let setup = plain().with(|c| (c.timestamps, c.check_echo) = (true, check_echo));
        let mut t = Timeline::new(&setup);
        t.as_mut().listen();
        t.inject(0, seg("S").mss(1000).timestamps(5, 0));
        let first = t.expect(0, seg("S.").ack(1)).options.timestamps.map_or(0, |ts| ts.tsval);
        t.inject(100, seg("S").mss(1000).timestamps(105, 0));
        let last = t.expect(100, seg("S.").ack(1)).options.timestamps.map_or(0, |ts| ts.tsval);
        assert_eq!(last.wrapping_sub(first), 100);
        for echo in [first.wrapping_sub(1), last.wrapping_add(1)] {
            t.inject(200, seg(".").seq(1).ack(1).timestamps(205, echo));
            if check_echo {
                t.expect(200, seg(".").seq(1).ack(1));
                assert_eq!(t.state(), State::SynReceived);
            }
        }
        t.inject(210, seg(".").seq(1).ack(1).timestamps(215, first.wrapping_add(50)));
        assert_eq!(t.state(), State::Established);
    }
}
