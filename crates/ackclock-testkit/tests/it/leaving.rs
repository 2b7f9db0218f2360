//! An application that is gone (RFC 1122 §4.2.2.13), and urgent data (RFC 9293 §3.8.5).

use ackclock_engine::{AbortReason, ConnectionEvent, State};
use ackclock_testkit::Setup;
use ackclock_testkit::timeline::{Timeline, seg};

fn open() -> Timeline {
    let setup = Setup::default().with(|c| (c.sack, c.window_scaling) = (false, false));
    Timeline::connected(&setup, seg("S.").ack(1).mss(1000))
}

#[test]
fn data_for_an_application_that_has_left_gets_a_reset() {
    let mut t = open();
    t.leave();
    t.expect(0, seg("F.").seq(1).ack(1));
    t.inject(10, seg(".").seq(1).ack(2));
    assert_eq!(t.state(), State::FinWait2);
    t.inject(20, seg(".").seq(1).ack(2).len(100));
    t.expect(20, seg("R").seq(2));
    assert_eq!(t.state(), State::Closed);
    t.skip_to_event(ConnectionEvent::Aborted(AbortReason::Local));
}

#[test]
fn old_data_and_a_fin_get_none() {
    let mut t = open();
    t.inject(0, seg(".").seq(1).len(100));
    t.read(100);
    t.leave();
    t.expect(0, seg("F.").seq(1).ack(101));
    t.inject(10, seg(".").seq(1).ack(2).len(100));
    t.expect(10, seg(".").seq(2).ack(101));
    t.inject(20, seg("F.").seq(101).ack(2));
    t.expect(20, seg(".").seq(2).ack(102));
    assert_eq!(t.state(), State::TimeWait);
}

#[test]
fn unread_data_gets_a_reset_at_once() {
    // RFC 2525 §2.17.
    let mut t = open();
    t.inject(0, seg(".").seq(1).len(100));
    t.leave();
    t.expect(0, seg("R.").seq(1).ack(101));
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn after_a_half_close_data_still_arrives() {
    let mut t = open();
    t.close();
    t.expect(0, seg("F.").seq(1).ack(1));
    t.inject(10, seg(".").seq(1).ack(2).len(100));
    t.read(100);
    assert_eq!(t.state(), State::FinWait2);
}

#[test]
fn segments_below_its_end_point_to_the_urgent_data() {
    let mut t = open();
    t.write(1500);
    t.take_sent();
    let now = t.now();
    t.endpoint.connection.mark_urgent(now);
    t.cork(false);
    // Nagle's algorithm held it.
    assert_eq!(t.expect(0, seg("PU.").seq(1001).len(500)).urgent, 500);
    // What is retransmitted was not urgent when it was first sent.
    assert_eq!(t.expect_within(0, 1500, seg("U.").seq(1).len(1000)).urgent, 1500);
    t.inject(2000, seg(".").seq(1).ack(1501));
    t.write(100);
    assert_eq!(t.expect(2000, seg("P.").seq(1501)).urgent, 0);
}

#[test]
fn urgent_data_is_reported_and_counted_down() {
    let mut t = open();
    assert_eq!(t.endpoint.connection.urgent_left(), None);
    t.inject(0, seg("U.").seq(1).len(100).urgent(150));
    t.skip_to_event(ConnectionEvent::Urgent);
    assert_eq!(t.endpoint.connection.urgent_left(), Some(150));
    t.read(60);
    assert_eq!(t.endpoint.connection.urgent_left(), Some(90));
    // A pointer before it is old.
    t.inject(10, seg("U.").seq(101).len(100).urgent(20));
    assert_eq!(t.endpoint.connection.urgent_left(), Some(90));
    t.read(140);
    assert_eq!(t.endpoint.connection.urgent_left(), None);
}
