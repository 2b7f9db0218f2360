//! Closing a connection: every path of RFC 9293 §3.6 to CLOSED, half-close, TIME-WAIT, abort.

use ackclock_engine::{AbortReason, ConnectionEvent, State};
use ackclock_testkit::Setup;
use ackclock_testkit::timeline::{Seg, Timeline, seg};
use ackclock_units::Duration;

fn setup() -> Setup {
    Setup::default()
        .with(|c| (c.sack, c.window_scaling, c.time_wait) = (false, false, Duration::from_secs(60)))
}

fn open() -> Timeline {
    Timeline::connected(&setup(), syn_ack())
}

fn syn_ack() -> Seg {
    seg("S.").ack(1).mss(1460)
}

#[test]
fn we_close_first() {
    // RFC 9293 §3.6, figure 12.
    let mut t = open();
    t.close();
    t.expect(0, seg("F.").seq(1).ack(1).len(0));
    assert_eq!(t.state(), State::FinWait1);
    t.inject(10, seg(".").seq(1).ack(2));
    assert_eq!(t.state(), State::FinWait2);
    t.inject(20, seg("F.").seq(1).ack(2));
    t.expect(20, seg(".").seq(2).ack(2));
    assert_eq!(t.state(), State::TimeWait);
    t.skip_to_event(ConnectionEvent::Finished);
    t.expect_silence(60_019);
    assert_eq!(t.state(), State::TimeWait);
    t.run_to(60_020);
    assert_eq!(t.state(), State::Closed);
    assert_eq!(t.endpoint.connection.poll_timeout(), None);
}

#[test]
fn the_peer_closes_first() {
    let mut t = open();
    t.inject(10, seg("F.").seq(1).ack(1));
    t.expect(10, seg(".").seq(1).ack(2));
    assert_eq!(t.state(), State::CloseWait);
    assert!(t.endpoint.connection.at_end());
    t.close();
    t.expect(10, seg("F.").seq(1).ack(2));
    assert_eq!(t.state(), State::LastAck);
    t.inject(20, seg(".").seq(2).ack(2));
    assert_eq!(t.state(), State::Closed);
    t.skip_to_event(ConnectionEvent::Finished);
}

#[test]
fn both_close_at_once() {
    // RFC 9293 §3.6, figure 13.
    let mut t = open();
    t.close();
    t.expect(0, seg("F.").seq(1).ack(1));
    t.inject(10, seg("F.").seq(1).ack(1));
    t.expect(10, seg(".").ack(2));
    assert_eq!(t.state(), State::Closing);
    t.inject(20, seg(".").seq(2).ack(2));
    assert_eq!(t.state(), State::TimeWait);
    t.skip_to_event(ConnectionEvent::Finished);
}

#[test]
fn a_fin_that_acknowledges_ours_goes_straight_to_time_wait() {
    let mut t = open();
    t.close();
    t.expect(0, seg("F."));
    t.inject(10, seg("F.").seq(1).ack(2));
    t.expect(10, seg(".").seq(2).ack(2));
    assert_eq!(t.state(), State::TimeWait);
}

#[test]
fn a_fin_follows_the_last_byte_and_is_retransmitted() {
    let mut t = open();
    t.write(2000);
    t.close();
    t.expect(0, seg(".").seq(1).len(1460));
    t.expect(0, seg("FP.").seq(1461).len(540));
    t.inject(50, seg(".").ack(1461));
    // The tail is lost: data and FIN are retransmitted together after a timeout.
    t.expect_within(1000, 1100, seg("FP.").seq(1461).len(540));
    t.inject(1150, seg(".").ack(2002));
    assert_eq!(t.state(), State::FinWait2);
    t.expect_silence(100_000);
}

#[test]
fn after_a_half_close_the_peer_continues_to_send() {
    let mut t = open();
    t.close();
    t.expect(0, seg("F."));
    t.inject(10, seg(".").ack(2));
    for i in 0..10 {
        t.inject(100 + i * 100, seg("P.").seq(1 + 1000 * i as u32).ack(2).len(1000));
    }
    t.read(10_000);
    t.run_to(5000);
    assert_eq!(t.state(), State::FinWait2);
    assert_eq!(t.take_sent().last().map(|(_, s)| s.ack.0), Some(50_000 + 10_001), "all acknowledged");
    t.inject(6000, seg("F.").seq(10_001).ack(2));
    t.expect(6000, seg(".").seq(2).ack(10_002));
    assert_eq!(t.state(), State::TimeWait);
}

#[test]
fn the_peer_may_half_close_and_read_on() {
    let mut t = open();
    t.inject(0, seg("F.").seq(1));
    t.expect(0, seg(".").ack(2));
    t.write(3000);
    t.expect(0, seg(".").seq(1).len(1460));
    t.expect(0, seg(".").seq(1461).len(1460));
    t.inject(10, seg(".").seq(2).ack(2921));
    t.expect(10, seg("P.").seq(2921).len(80));
    t.inject(20, seg(".").seq(2).ack(3001));
    assert_eq!(t.state(), State::CloseWait);
    t.close();
    t.expect(20, seg("F.").seq(3001).ack(2));
    t.inject(30, seg(".").seq(2).ack(3002));
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn data_with_the_fin_is_delivered_before_the_end() {
    let mut t = open();
    t.inject(0, seg("FP.").seq(1).len(300));
    t.expect(0, seg(".").ack(302));
    assert!(!t.endpoint.connection.at_end());
    t.read(300);
    assert!(t.endpoint.connection.at_end());
}

#[test]
fn a_fin_out_of_order_waits_for_the_missing_data() {
    let mut t = open();
    t.inject(0, seg("FP.").seq(101).len(100));
    t.expect(0, seg(".").ack(1));
    assert_eq!(t.state(), State::Established);
    t.inject(10, seg(".").seq(1).len(100));
    t.expect_within(10, 10, seg("."));
    t.inject(20, seg("FP.").seq(101).len(100));
    t.expect(20, seg(".").ack(202));
    t.read(200);
    assert_eq!(t.state(), State::CloseWait);
}

#[test]
fn a_retransmitted_fin_restarts_time_wait() {
    let mut t = open();
    t.close();
    t.inject(0, seg("F.").seq(1).ack(2));
    t.take_sent();
    t.inject(30_000, seg("F.").seq(1).ack(2));
    t.expect(30_000, seg(".").seq(2).ack(2));
    t.run_to(89_999);
    assert_eq!(t.state(), State::TimeWait);
    t.run_to(90_000);
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn a_reset_or_an_abort_in_time_wait_ends_it_quietly() {
    for reset in [true, false] {
        let mut t = open();
        t.close();
        t.inject(0, seg("F.").seq(1).ack(2));
        t.take_sent();
        t.skip_to_event(ConnectionEvent::Finished);
        if reset {
            t.inject(10, seg("R.").seq(2).ack(2))
        } else {
            t.abort()
        }
        assert_eq!(t.state(), State::Closed);
        t.expect_silence(100_000);
        // The end was reported once.
        t.expect_no_event();
    }
}

#[test]
fn closing_before_anything_happened() {
    let mut t = Timeline::new(&setup());
    t.as_mut().listen();
    t.close();
    assert_eq!(t.state(), State::Closed);
    let mut t = Timeline::new(&setup());
    t.connect();
    t.take_sent();
    t.close();
    assert_eq!(t.state(), State::Closed);
    t.expect_silence(100_000);
}

#[test]
fn closing_during_the_handshake_sends_everything_first() {
    // RFC 9293 §3.10.4: in SYN-RECEIVED with data queued, the FIN waits for ESTABLISHED.
    let mut t = Timeline::new(&setup());
    t.as_mut().listen();
    t.inject(0, seg("S").mss(1460));
    t.expect(0, seg("S."));
    t.write(100);
    t.close();
    t.expect_silence(10);
    t.inject(10, seg(".").seq(1).ack(1));
    t.expect(10, seg("FP.").seq(1).len(100));
    assert_eq!(t.state(), State::FinWait1);

    let mut t = Timeline::new(&setup());
    t.connect();
    t.take_sent();
    t.write(100);
    t.close();
    t.inject(10, syn_ack());
    t.expect(10, seg("FP.").seq(1).len(100));
    t.inject(20, seg(".").ack(102));
    assert_eq!(t.state(), State::FinWait2);
}

#[test]
fn an_abort_sends_a_reset_and_is_reported() {
    let mut t = open();
    t.write(5000);
    t.take_sent();
    t.abort();
    t.expect(0, seg("R.").ack(1));
    t.skip_to_event(ConnectionEvent::Aborted(AbortReason::Local));
    assert_eq!(t.state(), State::Closed);
    t.expect_silence(1_000_000);
}

#[test]
fn a_fin_is_retransmitted_until_the_last_ack_arrives() {
    let mut t = open();
    t.inject(0, seg("F.").seq(1));
    t.expect(0, seg(".").ack(2));
    t.close();
    t.expect(0, seg("F.").seq(1).ack(2));
    t.expect(1000, seg("F.").seq(1).ack(2));
    t.expect(3000, seg("F.").seq(1).ack(2));
    t.inject(3100, seg(".").seq(2).ack(2));
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn data_after_close_is_acknowledged_in_fin_wait_and_not_accepted_after_the_peers_fin() {
    let mut t = open();
    t.close();
    t.expect(0, seg("F."));
    t.inject(0, seg("F.").seq(1).ack(2));
    t.take_sent();
    // Data after the peer's FIN is not accepted.
    t.inject(10, seg("P.").seq(2).ack(2).len(10));
    t.take_sent();
    assert_eq!(t.endpoint.connection.readable(), 0);
    assert_eq!(t.state(), State::TimeWait);
}

#[test]
fn time_wait_may_be_reused_by_a_newer_syn_only() {
    // RFC 9293 §3.6.1; RFC 6191.
    let mut t = open();
    t.close();
    t.inject(0, seg("F.").seq(1).ack(2));
    let c = &t.endpoint.connection;
    let syn = |seq: u32| ackclock_wire::Segment {
        seq: ackclock_units::SeqNumber(seq),
        flags: ackclock_wire::Flags::SYN,
        ..Default::default()
    };
    assert!(c.may_be_replaced_by(&syn(50_000 + 100)));
    assert!(!c.may_be_replaced_by(&syn(50_000)));
}

#[test]
fn a_reset_ends_time_wait_unless_rfc_1337_is_followed() {
    for (rfc1337, state) in [(false, State::Closed), (true, State::TimeWait)] {
        let mut t = Timeline::connected(&setup().with(|c| c.rfc1337 = rfc1337), syn_ack());
        t.close();
        t.expect(0, seg("F.").seq(1).ack(1).len(0));
        t.inject(10, seg("F.").seq(1).ack(2));
        t.expect(10, seg(".").seq(2).ack(2));
        t.inject(20, seg("R").seq(2));
        assert_eq!(t.state(), state, "rfc1337 {rfc1337}");
    }
}
