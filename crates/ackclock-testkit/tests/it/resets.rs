//! RST rules, and RFC 5961: blind resets, SYNs and data injection.

use ackclock_engine::{AbortReason, ConnectionEvent, State};
use ackclock_testkit::Setup;
use ackclock_testkit::timeline::{Timeline, seg};
use ackclock_units::Duration;

fn open() -> Timeline {
    open_with(100)
}

fn open_with(challenges: u32) -> Timeline {
    let setup = Setup::default()
        .with(|c| (c.window_scaling, c.rcv_buf, c.challenge_ack_limit) = (false, 10_000, challenges));
    Timeline::connected(&setup, seg("S.").ack(1).mss(1000))
}

#[test]
fn a_reset_at_exactly_the_next_number_is_accepted() {
    let mut t = open();
    t.write(500);
    t.take_sent();
    t.inject(10, seg("R").seq(1));
    t.skip_to_event(ConnectionEvent::Aborted(AbortReason::Reset));
    assert_eq!(t.state(), State::Closed);
    t.expect_silence(1_000_000);
}

#[test]
fn a_blind_reset_in_the_window_gets_a_challenge_ack() {
    // RFC 5961 §3.2.
    let mut t = open();
    for (i, seq) in [2, 100, 10_000].into_iter().enumerate() {
        t.inject(10 * i as u64, seg("R").seq(seq));
        t.expect(10 * i as u64, seg(".").seq(1).ack(1).len(0));
    }
    assert_eq!(t.state(), State::Established);
    assert_eq!(t.endpoint.connection.stats().challenge_acks, 3);
    // A genuine peer responds to the challenge with a RST that has the right number.
    t.inject(100, seg("R").seq(1));
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn a_reset_outside_the_window_is_dropped() {
    let mut t = open();
    for seq in [0, 10_001 + 1, 0x8000_0000, u32::MAX - 5] {
        t.inject(0, seg("R").seq(seq));
    }
    t.expect_silence(1000);
    assert_eq!(t.state(), State::Established);
}

#[test]
fn a_blind_syn_gets_a_challenge_ack_whatever_its_number() {
    // RFC 5961 §4.2.
    let mut t = open();
    for (i, seq) in [0, 1, 5000, 123_456, 0x9000_0000].into_iter().enumerate() {
        t.inject(10 * i as u64, seg("S").seq(seq));
        t.expect(10 * i as u64, seg(".").seq(1).ack(1).len(0));
        t.inject(10 * i as u64 + 5, seg("S.").seq(seq));
        t.expect(10 * i as u64 + 5, seg(".").seq(1).ack(1).len(0));
    }
    assert_eq!(t.state(), State::Established);
}

#[test]
fn data_with_an_impossible_acknowledgment_is_discarded() {
    // RFC 5961 §5.2: below snd_una - max_snd_wnd, or above snd_nxt.
    let mut t = open();
    t.write(1000);
    t.expect(0, seg(".").len(1000));
    for (i, ack) in [1002, 5000, 0x7fff_0000, 0u32.wrapping_sub(70_000)].into_iter().enumerate() {
        t.inject(10 + i as u64, seg("P.").seq(1).ack(ack).len(100));
        t.expect(10 + i as u64, seg(".").seq(1001).ack(1).len(0));
        assert_eq!(t.endpoint.connection.readable(), 0, "ack {ack}");
    }
    // An old one within the largest window seen is acceptable: its data counts.
    t.inject(50, seg("P.").seq(1).ack(0).len(100));
    t.read(100);
    t.inject(60, seg("P.").seq(101).ack(1001).len(100));
    t.read(100);
}

#[test]
fn an_ack_of_data_never_sent_is_acknowledged_and_changes_nothing() {
    let mut t = open();
    t.inject(0, seg(".").seq(1).ack(2));
    t.expect(0, seg(".").seq(1).ack(1));
    assert_eq!(t.state(), State::Established);
    assert_eq!(t.endpoint.connection.stats().bytes_acked, 0);
}

#[test]
fn a_reset_at_the_right_edge_of_the_window_is_dropped_silently() {
    // RFC 5961 §3.2: the edge of a window of 10,000 bytes lies outside. Just inside, the reset gets a
    // challenge ACK.
    let mut t = open();
    t.inject(0, seg("R").seq(10_001));
    t.inject(0, seg("R").seq(10_002));
    t.expect_silence(100);
    t.inject(100, seg("R").seq(10_000));
    t.expect(100, seg(".").ack(1));
    assert_eq!(t.state(), State::Established);
    // An ack at the edge still counts (docs/departures.md).
    t.write(1);
    t.expect(100, seg(".").seq(1).len(1));
    t.inject(200, seg(".").seq(10_001).ack(2));
    assert_eq!(t.endpoint.connection.unacked(), 0);
}

#[test]
fn challenge_acks_are_limited() {
    // RFC 5961 §7.
    let mut t = open_with(10);
    for i in 0..50 {
        t.inject(i, seg("R").seq(100));
    }
    assert_eq!(t.take_sent().len(), 10);
    for i in 0..50 {
        t.inject(1100 + i, seg("S").seq(100));
    }
    assert_eq!(t.take_sent().len(), 10, "the next second has a new limit");
    assert_eq!(t.state(), State::Established);
}

#[test]
fn two_desynchronized_ends_do_not_loop() {
    // Acks from outside the window are acknowledged at a limited rate: two desynchronised ends would
    // otherwise loop.
    let mut t = open_with(10);
    for i in 0..100 {
        t.inject(i, seg(".").seq(200_000).ack(1));
    }
    assert!(t.take_sent().len() <= 10);
}

#[test]
fn a_reset_during_the_handshake() {
    // A connection opened passively is closed; RFC 9293 §3.10.7.4 returns it to LISTEN, which is the caller's
    // task here.
    let mut t = Timeline::new(&Setup::default());
    t.as_mut().listen();
    t.inject(0, seg("S").mss(1000));
    t.expect(0, seg("S."));
    t.inject(10, seg("R").seq(1));
    assert_eq!(t.state(), State::Closed);
    t.expect_silence(100_000);
    // A wrong acknowledgment of the SYN-ACK elicits a RST and does not establish (RFC 9293 §3.10.7.4, fifth).
    let mut t = Timeline::new(&Setup::default());
    t.as_mut().listen();
    t.inject(0, seg("S").mss(1000));
    t.expect(0, seg("S."));
    for ack in [0, 2, 5000] {
        t.inject(10, seg(".").seq(1).ack(ack));
        t.expect(10, seg("R").seq(ack));
    }
    assert_eq!(t.state(), State::SynReceived);
    t.inject(20, seg(".").seq(1).ack(1));
    assert_eq!(t.state(), State::Established);
}

#[test]
fn a_reset_with_data_waiting_is_reported() {
    let mut t = open();
    t.inject(0, seg("P.").seq(1).len(100));
    t.inject(10, seg("R.").seq(101));
    t.skip_to_event(ConnectionEvent::Aborted(AbortReason::Reset));
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn every_closing_state_ends_on_a_valid_reset() {
    for closing in 0..4 {
        let setup = Setup::default().with(|c| c.time_wait = Duration::from_secs(60));
        let mut t = Timeline::connected(&setup, seg("S.").ack(1).mss(1000));
        let mut next = 1;
        match closing {
            0 => t.close(),
            1 => {
                t.close();
                t.inject(0, seg(".").ack(2));
            }
            2 => {
                t.inject(0, seg("F.").seq(1));
                next = 2;
            }
            _ => {
                t.inject(0, seg("F.").seq(1));
                t.close();
                next = 2;
            }
        }
        t.take_sent();
        t.inject(10, seg("R.").seq(next).ack(1));
        assert_eq!(t.state(), State::Closed, "case {closing}");
        t.expect_silence(1_000_000);
    }
}

#[test]
fn segments_without_ack_are_dropped_once_synchronized() {
    let mut t = open();
    t.inject(0, seg("P").seq(1).len(10));
    t.inject(0, seg("F").seq(1));
    t.expect_silence(1000);
    assert_eq!((t.state(), t.endpoint.connection.readable()), (State::Established, 0));
}

#[test]
fn resets_and_syns_in_the_window_end_a_connection_where_it_trusts_them() {
    // RFC 793 §3.9, where RFC 5961 §3.2 and §4.2 ask for a challenge ACK.
    let trusting = || {
        let setup = Setup::default().with(|c| {
            (c.window_scaling, c.rcv_buf) = (false, 10_000);
            (c.rst_in_window, c.syn_in_window) = (true, true);
        });
        Timeline::connected(&setup, seg("S.").ack(1).mss(1000))
    };
    let mut t = trusting();
    t.inject(10, seg("R").seq(10_001));
    assert_eq!(t.state(), State::Established, "beyond the window");
    t.inject(20, seg("R").seq(10_000));
    t.skip_to_event(ConnectionEvent::Aborted(AbortReason::Reset));
    assert_eq!(t.state(), State::Closed);

    let mut t = trusting();
    t.inject(10, seg("S").seq(5_000).mss(1000));
    t.expect(10, seg("R.").seq(1).ack(1));
    t.skip_to_event(ConnectionEvent::Aborted(AbortReason::Reset));
    assert_eq!(t.state(), State::Closed);
}
