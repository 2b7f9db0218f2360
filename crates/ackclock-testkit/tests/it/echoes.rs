//! How a sender responds to ECN-Echo (RFC 3168 §6.1.2), ack by ack.

use ackclock_testkit::Setup;
use ackclock_testkit::timeline::{Timeline, seg};
use ackclock_units::Ecn;
use ackclock_wire::Flags;

/// A sender with ECN, segments of 1000 bytes, and many of them to send.
fn sending(n: u64) -> Timeline {
    let setup = Setup::default().with(|c| (c.ecn, c.window_scaling) = (true, false));
    let mut t = Timeline::connected(&setup, seg("SE.").ack(1).mss(1000).sack_permitted(true));
    t.write(n);
    t
}

fn cwnd(t: &Timeline) -> u64 {
    t.endpoint.connection.view(t.now()).window.cwnd
}

fn reductions(t: &Timeline) -> u32 {
    t.endpoint.connection.stats().ecn_reductions
}

#[test]
fn an_echo_on_the_ack_of_a_whole_window_counts() {
    // A receiver that acknowledges everything at once, as with a window of two segments: nothing is
    // outstanding when the echo arrives.
    let mut t = sending(100_000);
    assert_eq!(t.take_sent().len(), 10);
    t.inject(100, seg("E.").ack(10_001));
    assert_eq!((cwnd(&t), reductions(&t)), (5000, 1));
    let sent = t.take_sent();
    let with_cwr: Vec<bool> = sent.iter().map(|(_, s)| s.flags.has(Flags::CWR)).collect();
    assert_eq!(with_cwr, [true, false, false, false, false], "CWR once, with the first new data\n{t}");
    // Echoes on acks sent before the receiver got the CWR belong to the same window.
    t.inject(200, seg("E.").ack(10_001));
    assert_eq!((cwnd(&t), reductions(&t)), (5000, 1));
    // An echo of the next window counts again.
    t.inject(210, seg("E.").ack(15_001));
    assert_eq!((cwnd(&t), reductions(&t)), (2500, 2));
    t.take_sent();
}

#[test]
fn the_window_does_not_grow_on_an_echo() {
    // "The TCP sender SHOULD NOT increase the congestion window in response to the receipt of an ECN-Echo ACK
    // packet."
    let mut t = sending(100_000);
    t.take_sent();
    t.inject(100, seg("E.").ack(1001));
    let reduced = cwnd(&t);
    for i in 2..=10 {
        t.inject(100 + i, seg("E.").ack(1 + 1000 * i as u32));
        assert_eq!((cwnd(&t), reductions(&t)), (reduced, 1), "ack {i}\n{t}");
    }
    t.take_sent();
    // A window acknowledged without an echo does (RFC 5681 §3.1).
    (0..=5).for_each(|i| t.inject(200 + u64::from(i), seg(".").ack(11_001 + 1000 * i)));
    assert!(cwnd(&t) > reduced);
}

#[test]
fn an_echo_with_nothing_sent_is_ignored() {
    let mut t = sending(0);
    let before = cwnd(&t);
    t.inject(10, seg("PE.").seq(1).len(10));
    t.inject(20, seg("E.").seq(11));
    assert_eq!((cwnd(&t), reductions(&t)), (before, 0));
}

#[test]
fn only_new_data_is_ecn_capable() {
    // RFC 3168 §6.1.4 to §6.1.6: neither acks nor a FIN without data, nor window probes, nor retransmissions
    // are ECN-capable; CWR is set on new data alone.
    let mut t = sending(2000);
    for seq in [1, 1001] {
        t.expect(0, seg(".").seq(seq).len(1000).ecn(Ecn::Ect0));
    }
    t.inject(100, seg("E.").ack(1001).window(0));
    t.expect(1100, seg("P.").seq(1001).len(1000).ecn(Ecn::NotEct));
    t.inject(1200, seg(".").ack(2001).window(0));
    t.write(10);
    let probe = t.expect_within(1200, 9000, seg("P.").seq(2001).len(1).ecn(Ecn::NotEct));
    assert!(!probe.flags.has(Flags::CWR), "{t}");
    let now = t.now().as_nanos() / 1_000_000 + 10;
    t.inject(now, seg(".").ack(2001).window(60_000));
    t.expect(now, seg("PW.").seq(2001).len(10).ecn(Ecn::Ect0));
    t.close();
    t.expect(now, seg("F.").seq(2011).len(0).ecn(Ecn::NotEct));
}
