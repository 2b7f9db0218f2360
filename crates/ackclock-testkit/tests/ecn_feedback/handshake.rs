//! The feedback that two ends negotiate (RFC 9768 §3.1).

use ackclock_engine::{EcnFeedback, State};
use ackclock_testkit::Setup;
use ackclock_testkit::timeline::{Timeline, seg};
use ackclock_units::Ecn;
use ackclock_wire::Flags;

use super::{client, counts, established, flags, reductions, setup};

const CODEPOINTS: [(Ecn, &str); 4] =
    [(Ecn::NotEct, "W"), (Ecn::Ect1, "EW"), (Ecn::Ect0, "A"), (Ecn::Ce, "AW")];

#[test]
fn every_pair_of_ends_negotiates_by_the_tables() {
    use EcnFeedback::{Accurate, Dctcp, Rfc3168};
    let offers = [None, Some(Rfc3168), Some(Dctcp), Some(Accurate)];
    let with = |offer: Option<EcnFeedback>| {
        Setup::default()
            .with(|c| (c.ecn, c.ecn_feedback) = (offer.is_some(), offer.unwrap_or(EcnFeedback::Rfc3168)))
    };
    for (a, b) in offers.into_iter().flat_map(|a| offers.map(|b| (a, b))) {
        let (mut client, mut server) = (Timeline::new(&with(a)), Timeline::new(&with(b)));
        client.connect();
        server.endpoint.connection.listen();
        let ecn_flags = |t: &mut Timeline| {
            let (_, segment) = t.take_sent().remove(0);
            format!("{:?}", Flags(segment.flags.0 & (Flags::AE | Flags::CWR | Flags::ECE).0))
        };
        let syn = ecn_flags(&mut client);
        let asked = match a {
            None => "",
            Some(Accurate) => "EWA",
            Some(_) => "EW",
        };
        assert_eq!(syn, asked, "{a:?}");
        server.inject(0, seg(&flags("S", &syn)).mss(1000));
        let syn_ack = ecn_flags(&mut server);
        let agreed = match (a, b) {
            (None, _) | (_, None) => "",
            (Some(Accurate), Some(Accurate)) => "W",
            _ => "E",
        };
        assert_eq!(syn_ack, agreed, "{a:?} and {b:?}");
        client.inject(0, seg(&flags("S.", &syn_ack)).ack(1).mss(1000));
        let ack = ecn_flags(&mut client);
        let both = agreed == "W";
        assert_eq!(ack, if both { "W" } else { "" }, "{a:?} and {b:?}");
        server.inject(0, seg(&flags(".", &ack)).seq(1).ack(1));
        assert_eq!((counts(&client), counts(&server)), (both, both), "{a:?} and {b:?}");
        for t in [&mut client, &mut server] {
            t.write(10_000);
            let capable = if agreed.is_empty() { Ecn::NotEct } else { Ecn::Ect0 };
            t.expect(0, seg(if both { ".EA" } else { "." }).ecn(capable));
        }
    }
}

#[test]
fn the_handshake_reports_the_codepoints_of_its_packets() {
    for (ecn, code) in CODEPOINTS {
        // Server to client: the codepoint of the SYN (table 2); client to server: that of the SYN-ACK (table
        // 3). Either was sent as not capable, so that others are invalid (§3.2.2.3).
        let mut t = Timeline::new(&setup(EcnFeedback::Accurate));
        t.endpoint.connection.listen();
        t.inject(0, seg("SEWA").mss(1000).ecn(ecn));
        t.expect(0, seg(&flags("S.", code)).accecn(&[1, 0, 1]));
        t.inject(0, seg(&flags(".", code)).seq(1).ack(1));
        t.write(5000);
        let sent = t.expect(0, seg(".EA").ecn(if ecn == Ecn::NotEct { Ecn::Ect0 } else { Ecn::NotEct }));
        assert_eq!(sent.options.accecn, None, "no counter has changed");
        let more = t.take_sent().len();
        assert_eq!(more == 0, ecn == Ecn::Ce, "a marked SYN-ACK leaves a window of one segment");

        let mut t = client(code, ecn);
        t.write(5000);
        // A pure ack comes first, with or without data waiting, then the counters: 5, and 6 after a marked
        // SYN-ACK.
        t.expect(0, seg(&flags(".", code)).len(0).accecn(&[1, 0, 1]));
        let counter = if ecn == Ecn::Ce { ".WA" } else { ".EA" };
        t.expect(0, seg(counter).len(988).accecn(&[1, 0, 1]));
        assert_eq!(t.take_sent().is_empty(), ecn == Ecn::Ce);
    }
}

#[test]
fn other_syn_acks_are_read_by_the_tables() {
    // Reserved: accurate, and the SYN arrived as it was sent (§3.1.3).
    let mut t = client("AE", Ecn::NotEct);
    t.expect(0, seg(".W"));
    t.write(10);
    t.expect(0, seg("P.EA").ecn(Ecn::Ect0));
    // A server that reflects the flags of the SYN is broken (§3.1.2): no ECN.
    let mut t = client("AWE", Ecn::NotEct);
    t.expect(0, seg("."));
    t.write(10);
    t.expect(0, seg("P.").ecn(Ecn::NotEct));
    // One that implements RFC 3168 alone.
    let mut t = client("E", Ecn::NotEct);
    t.expect(0, seg("."));
    t.write(10);
    t.expect(0, seg("P.").ecn(Ecn::Ect0));
    // SYNs with reserved flags ask for counters (§3.1.3).
    for asks in ["E", "W", "A", "AE", "AW"] {
        let mut t = Timeline::new(&setup(EcnFeedback::Accurate));
        t.endpoint.connection.listen();
        t.inject(0, seg(&flags("S", asks)).mss(1000));
        t.expect(0, seg("S.W"));
    }
}

#[test]
fn a_syn_asks_for_accurate_feedback_twice_at_most() {
    // §3.1.4.1.
    let mut t = Timeline::new(&setup(EcnFeedback::Accurate));
    t.connect();
    t.expect(0, seg("SEWA"));
    t.expect(1000, seg("SEWA"));
    t.expect(3000, seg("S"));
    // The mode is that of the SYN-ACK all the same (§3.1.4.1).
    t.inject(3100, seg("S.W").ack(1).mss(1000));
    t.expect(3100, seg(".W"));
    t.write(10);
    t.expect(3100, seg("P.EA").ecn(Ecn::Ect0));
}

#[test]
fn retransmitted_syn_acks_drop_the_option_and_then_the_flags() {
    // §3.2.3.2.2; after a SYN-ACK without ECN, the server sends nothing ECN-capable, but still counts
    // (§3.1.5).
    let mut t = Timeline::new(&setup(EcnFeedback::Accurate));
    t.endpoint.connection.listen();
    t.inject(0, seg("SEWA").mss(1000));
    t.expect(0, seg("S.W").accecn(&[1, 0, 1]));
    t.expect(1000, seg("S.W").no_accecn());
    t.expect(3000, seg("S.").no_accecn());
    t.inject(3100, seg(".W").seq(1).ack(1));
    t.write(10);
    t.expect(3100, seg("P.EA").ecn(Ecn::NotEct));
    t.inject(3200, seg(".EA").seq(1).ack(11).len(10).ecn(Ecn::Ce));
    t.expect(3200, seg(".WA").ack(11));
}

#[test]
fn a_second_syn_is_acknowledged_with_its_own_codepoint_and_may_not_change_the_mode() {
    let listening = |syn: &str| {
        let mut t = Timeline::new(&setup(EcnFeedback::Accurate));
        t.endpoint.connection.listen();
        t.inject(0, seg(&flags("S", syn)).mss(1000));
        t.take_sent();
        t
    };
    // The latest SYN counts, and its SYN-ACK is without the option (§3.1.5, §3.2.3.2.2).
    let mut t = listening("EWA");
    t.inject(10, seg("SEWA").mss(1000).ecn(Ecn::Ect0));
    t.expect(10, seg("S.A").no_accecn());
    // One without ECN elicits the same SYN-ACK, and nothing ECN-capable is sent from then on (§3.1.5).
    t.inject(20, seg("S").mss(1000));
    t.expect(20, seg("S.W"));
    t.inject(30, seg(".W").seq(1).ack(1));
    t.write(10);
    t.expect(30, seg("P.EA").ecn(Ecn::NotEct));
    // Two kinds of ECN in one handshake reset it (§3.1.5).
    for (first, second) in [("EWA", "EW"), ("EW", "EWA")] {
        let mut t = listening(first);
        t.inject(10, seg(&flags("S", second)).mss(1000));
        t.expect(10, seg("R."));
        assert_eq!(t.state(), State::Closed);
    }
    // Without ECN it stays (§3.1.5).
    let mut t = listening("");
    t.inject(10, seg("SEWA").mss(1000));
    t.expect(10, seg("S."));
}

#[test]
fn a_second_syn_ack_is_acknowledged_with_its_own_codepoint() {
    // §3.2.2.1; a mark on it counts, once (§3.2.2.2).
    let mut t = established();
    for at in [10, 20] {
        t.inject(at, seg("S.W").seq(0).ack(1).mss(1000).ecn(Ecn::Ce));
        t.expect(at, seg(".AW").ack(1).len(0));
    }
    t.write(10);
    t.expect(20, seg("P.AW").ecn(Ecn::Ect0));
}

#[test]
fn simultaneous_opens_agree_as_servers_do() {
    // §3.1.2, and no counter is read from a segment with SYN (§3.2.2).
    let mut t = Timeline::new(&setup(EcnFeedback::Accurate));
    t.connect();
    t.expect(0, seg("SEWA"));
    t.inject(10, seg("SEWA").mss(1000).ecn(Ecn::Ect1));
    t.expect(10, seg("S.EW"));
    t.inject(20, seg("S.W").seq(0).ack(1).mss(1000));
    assert_eq!(t.state(), State::Established);
    t.take_sent();
    t.write(3000);
    t.expect(20, seg(".EA").ecn(Ecn::Ect0));
    t.take_sent();
    t.inject(100, seg(".EA").ack(1001));
    assert_eq!(reductions(&t), 0);
    t.inject(110, seg(".AW").ack(2001));
    assert_eq!(reductions(&t), 1);
}
