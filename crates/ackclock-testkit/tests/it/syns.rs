//! Repeated SYNs, SYNs with other controls, and SYNs from both ends at once: RFC 9293 §3.10.7, RFC 7323 §2.2,
//! Karn's rule.

use ackclock_engine::{ConnectionEvent, State};
use ackclock_testkit::timeline::{Timeline, seg};
use ackclock_testkit::{Setup, choose};
use ackclock_units::Duration;

fn plain() -> Setup {
    Setup::default().with(|c| (c.sack, c.window_scaling, c.rcv_buf) = (false, false, 10_000))
}

fn stamped() -> Setup {
    Setup::default()
        .with(|c| (c.timestamps, c.window_scaling) = (true, false))
        .with_policies(|s| s.ack = choose("every"))
}

#[test]
fn a_syn_with_a_reset_is_no_syn() {
    // RFC 9293 §3.10.7: the RST bit is checked first.
    let mut t = Timeline::new(&plain());
    t.as_mut().listen();
    t.inject(0, seg("SR").mss(1000));
    t.expect_silence(0);
    assert_eq!(t.state(), State::Listen);
    t.inject(0, seg("S").mss(1000));
    t.expect(0, seg("S."));
    t.inject(10, seg("SR").mss(1000));
    t.expect_silence(10);
    assert_eq!(t.state(), State::SynReceived);
}

#[test]
fn another_syn_during_the_handshake() {
    // RFC 9293 §3.10.7.4, fourth: in the window it ends a passive open, which goes back to LISTEN, and is
    // challenged in a simultaneous one; outside it elicits an ACK.
    for (passive, seq, state) in [
        (true, 100, State::Closed),
        (true, 20_000, State::SynReceived),
        (true, 0u32.wrapping_sub(1), State::SynReceived),
        (false, 100, State::SynReceived),
    ] {
        let mut t = Timeline::new(&plain());
        if passive {
            t.as_mut().listen();
        } else {
            t.connect();
        }
        t.inject(0, seg("S").mss(1000));
        t.take_sent();
        t.inject(10, seg("S").seq(seq).mss(1000));
        assert_eq!(t.state(), state, "SYN at {seq}\n{t}");
        if state == State::SynReceived {
            t.expect(10, seg(".").seq(1).ack(1));
        }
        t.expect_silence(500);
    }
}

#[test]
fn the_window_of_a_syn_ack_is_not_scaled_in_a_simultaneous_open_either() {
    // RFC 7323 §2.2.
    let mut t = Timeline::new(&Setup::default());
    t.connect();
    t.expect(0, seg("S"));
    t.inject(10, seg("S").mss(1000).scale(7).window(3000));
    t.expect(10, seg("S.").seq(0).ack(1).scale(5));
    t.inject(20, seg("S.").ack(1).mss(1000).scale(7).window(3000));
    assert_eq!(t.state(), State::Established);
    // The peer's SYN again: it may not have received our SYN-ACK.
    t.expect(20, seg(".").seq(1).ack(1));
    t.write(20_000);
    for seq in [1, 1001, 2001] {
        t.expect(20, seg(".").seq(seq).len(1000));
    }
    t.expect_silence(20);
    // The windows after it are: 40 << 7 = 5120.
    t.inject(30, seg(".").seq(1).ack(3001).window(40));
    for seq in [3001, 4001, 5001, 6001, 7001] {
        t.expect(30, seg(".").seq(seq).len(1000));
    }
    t.expect_silence(40);
}

#[test]
fn a_syn_ack_that_was_sent_twice_gives_no_sample() {
    // Karn's rule (RFC 6298 §3): it is unknown which of the two is acknowledged.
    let samples = |t: &Timeline| t.endpoint.connection.stats().rtt_samples;
    let mut t = Timeline::new(&plain());
    t.as_mut().listen();
    t.inject(0, seg("S").mss(1000));
    t.expect(0, seg("S."));
    t.inject(500, seg("S").mss(1000));
    t.expect(500, seg("S."));
    t.inject(510, seg(".").seq(1).ack(1));
    assert_eq!((t.state(), samples(&t)), (State::Established, 0));

    // In a simultaneous open our SYN-ACK repeats our SYN.
    let mut t = Timeline::new(&plain());
    t.connect();
    t.expect(0, seg("S"));
    t.inject(400, seg("S").mss(1000));
    t.expect(400, seg("S."));
    t.inject(410, seg("S.").ack(1).mss(1000));
    assert_eq!((t.state(), samples(&t)), (State::Established, 0));

    // Timestamps distinguish them (RFC 7323 §4.1).
    let mut t = Timeline::new(&stamped());
    t.as_mut().listen();
    t.inject(0, seg("S").mss(1000).timestamps(100, 0));
    t.expect(0, seg("S.").echo(100));
    // The last timestamp is echoed (RFC 7323 §4.3: the SYN is below what was acknowledged).
    t.inject(500, seg("S").mss(1000).timestamps(600, 0));
    let again = t.expect(500, seg("S.").echo(600)).options.timestamps.expect("negotiated");
    t.inject(530, seg(".").seq(1).ack(1).timestamps(630, again.tsval));
    assert_eq!((samples(&t), t.endpoint.connection.stats().rtt_max), (1, Duration::from_millis(30)));
}

#[test]
fn text_on_a_syn_is_acknowledged_by_the_syn_ack_alone() {
    let mut t = Timeline::new(&plain());
    t.as_mut().listen();
    t.inject(0, seg("S").len(5).mss(1000));
    t.expect(0, seg("S.").ack(6));
    t.expect_silence(999);
    t.expect(1000, seg("S.").ack(6));
    t.inject(1010, seg(".").seq(6).ack(1));
    t.skip_to_event(ConnectionEvent::Established);
    t.read(5);
}
