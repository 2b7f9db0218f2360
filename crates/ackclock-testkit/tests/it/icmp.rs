//! ICMP errors: RFC 9293 §3.9.2.2, RFC 5927, and path MTU discovery (RFC 1191, RFC 8201).

use std::net::SocketAddr;

use ackclock_engine::{AbortReason, ConnectionEvent, State};
use ackclock_policy::{CongestionControl, Phase, Registry, Role, SenderView};
use ackclock_testkit::timeline::{Timeline, seg};
use ackclock_testkit::{Setup, choose};
use ackclock_units::Duration;
use ackclock_wire::IcmpError;
use ackclock_wire::IcmpKind::{self, ParameterProblem, SourceQuench, TimeExceeded, TooBig, Unreachable};

/// A sender that has sent four segments of 1000 bytes, unchecked, with an initial window of ten.
fn sending(setup: &Setup) -> Timeline {
    let mut t = Timeline::new(setup);
    t.connect();
    t.expect(0, seg("S").seq(0));
    // A round trip of 5 ms: the tail loss probe of RACK-TLP is not due yet when the errors arrive.
    t.inject(5, seg("S.").ack(1).mss(1000).sack_permitted(true).window(60_000));
    t.expect(5, seg(".").seq(1).ack(1).len(0));
    t.expect_event(ConnectionEvent::Established);
    t.write(4000);
    for i in 0..4 {
        t.expect(5, seg(if i == 3 { "P." } else { "." }).seq(1 + 1000 * i).len(1000));
    }
    t
}

fn plain() -> Setup {
    Setup::default().with(|c| c.window_scaling = false)
}

/// A connection attempt whose SYN was checked, over IPv4 or IPv6.
fn opening(v6: bool) -> Timeline {
    let mut t = Timeline::new(&plain());
    if v6 {
        (t.endpoint.local, t.endpoint.remote) = (at("[fd00::1]:1"), at("[fd00::2]:2"));
    }
    t.connect();
    t.expect(0, seg("S").seq(0));
    t
}

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A passive open in SYN-RECEIVED.
fn half_open() -> Timeline {
    let mut t = Timeline::new(&plain());
    t.endpoint.connection.listen();
    t.inject(0, seg("S").seq(0));
    t.expect(0, seg("S.").seq(0));
    t
}

fn view(t: &Timeline) -> SenderView {
    t.endpoint.connection.view(t.now())
}

const SOFT: [IcmpKind; 5] = [Unreachable(0), Unreachable(1), Unreachable(5), TimeExceeded, ParameterProblem];

#[test]
fn source_quench_is_ignored() {
    // RFC 9293 §3.9.2.2, MUST-55; RFC 6633.
    let mut t = sending(&plain());
    let before = view(&t);
    t.inject_icmp(10, SourceQuench, 1);
    let after = view(&t);
    assert_eq!((before.window, before.smss), (after.window, after.smss));
    let mut t = opening(false);
    t.inject_icmp(10, SourceQuench, 0);
    assert_eq!(t.state(), State::SynSent);
}

#[test]
fn an_error_outside_the_send_window_is_ignored() {
    // RFC 5927 §4.1: SND.UNA <= SEG.SEQ < SND.NXT.
    for (kind, seq) in
        [(TooBig { mtu: 576 }, 0), (TooBig { mtu: 576 }, 4001), (TooBig { mtu: 576 }, 0x8000_0000)]
    {
        let mut t = sending(&plain());
        t.inject_icmp(10, kind, seq);
        t.expect_silence(100);
        assert_eq!(t.endpoint.connection.smss(), 1000, "{seq}");
    }
    for seq in [1, u32::MAX, 77_777] {
        for mut t in [opening(false), half_open()] {
            let state = t.state();
            t.inject_icmp(10, Unreachable(3), seq);
            assert_eq!(t.state(), state, "{seq}");
        }
    }
    // Acknowledged data is outside the window too.
    let mut t = sending(&plain());
    t.inject(10, seg(".").seq(1).ack(4001));
    t.inject_icmp(20, TooBig { mtu: 576 }, 1);
    assert_eq!(t.endpoint.connection.smss(), 1000);
}

#[test]
fn hard_errors_end_an_attempt_at_once() {
    // RFC 9293 §3.9.2.2, SHLD-26; the codes of IPv6 by RFC 5461 §2.
    for (v6, code, reason) in [
        (false, 3, AbortReason::Refused),
        (false, 2, AbortReason::Unreachable),
        (true, 4, AbortReason::Refused),
        (true, 1, AbortReason::Unreachable),
    ] {
        let mut t = opening(v6);
        t.inject_icmp(50, Unreachable(code), 0);
        t.expect_event(ConnectionEvent::Aborted(reason));
        assert_eq!(t.state(), State::Closed);
        t.expect_silence(1_000_000);
    }
    for (code, reason) in [(3, AbortReason::Refused), (2, AbortReason::Unreachable)] {
        let mut t = half_open();
        t.inject_icmp(50, Unreachable(code), 0);
        t.expect_event(ConnectionEvent::Aborted(reason));
        t.expect_silence(1_000_000);
    }
}

#[test]
fn hard_errors_end_no_synchronized_connection() {
    // RFC 5927 §5.2.
    for code in [2, 3] {
        let mut t = sending(&plain());
        t.inject_icmp(10, Unreachable(code), 1);
        t.expect_silence(100);
        t.inject(100, seg(".").seq(1).ack(4001));
        t.expect_event(ConnectionEvent::Flushed);
        t.expect_no_event();
        assert_eq!(t.state(), State::Established);
    }
}

#[test]
fn soft_errors_end_an_attempt_and_nothing_else() {
    // RFC 9293 §3.9.2.2, MUST-56; in SYN-SENT RFC 5461 §4.1.
    for kind in SOFT {
        let mut t = opening(false);
        t.inject_icmp(50, kind, 0);
        t.expect_event(ConnectionEvent::Aborted(AbortReason::Unreachable));
        let mut t = half_open();
        t.inject_icmp(50, kind, 0);
        assert_eq!(t.state(), State::SynReceived);
        let mut t = sending(&plain());
        t.inject_icmp(10, kind, 1001);
        t.inject(100, seg(".").seq(1).ack(4001));
        t.expect_event(ConnectionEvent::Flushed);
        t.expect_no_event();
        assert_eq!(t.state(), State::Established);
    }
}

#[test]
fn an_error_is_the_reason_of_an_abort_if_nothing_arrived_since() {
    // RFC 9293 §3.9.2.2, SHLD-25.
    let setup = plain().with(|c| c.user_timeout = Duration::from_secs(10));
    for (heard_since, reason) in [(false, AbortReason::Unreachable), (true, AbortReason::Timeout)] {
        let mut t = sending(&setup);
        t.inject_icmp(10, Unreachable(1), 1);
        if heard_since {
            t.inject(20, seg(".").seq(1).ack(1001));
        }
        t.run_to(60_000);
        t.skip_to_event(ConnectionEvent::Aborted(reason));
    }
}

#[test]
fn segments_that_are_too_long_are_retransmitted_at_once_and_the_window_stays() {
    // RFC 1191 §6.5, RFC 8201 §5.4.
    for recovery in ["timeout-only", "tahoe", "reno", "newreno", "sack", "fack", "rack"] {
        for sack in [false, true] {
            let mut t =
                sending(&plain().with(|c| c.sack = sack).with_policies(|s| s.recovery = choose(recovery)));
            let before = view(&t).window;
            t.inject_icmp(10, TooBig { mtu: 640 }, 1);
            for i in 0..4 {
                t.expect(10, seg(".").seq(1 + 1000 * i).len(600));
                t.expect(10, seg(if i == 3 { "P." } else { "." }).seq(601 + 1000 * i).len(400));
            }
            // The other three were too long as well, and are already retransmitted.
            for i in 1..4 {
                t.inject_icmp(10 + u64::from(i), TooBig { mtu: 640 }, 1 + 1000 * i);
            }
            t.expect_silence(50);
            let v = view(&t);
            assert_eq!((v.window, v.smss, v.pipe), (before, 600, 4000), "{recovery}, SACK {sack}");
            t.inject(60, seg(".").seq(1).ack(1601));
            t.inject(60, seg(".").seq(1).ack(4001));
            t.expect_event(ConnectionEvent::Flushed);
            let (v, stats) = (view(&t), t.endpoint.connection.stats().clone());
            assert!(
                v.window.cwnd >= before.cwnd && v.window.ssthresh == before.ssthresh,
                "{recovery}, SACK {sack}: {v:?}"
            );
            assert_eq!(
                (stats.window_cuts, stats.timeouts, stats.fast_recoveries, v.phase),
                (0, 0, 0, Phase::Open)
            );
            t.write(1200);
            t.expect(60, seg(".").seq(4001).len(600));
            t.expect(60, seg("P.").seq(4601).len(600));
        }
    }
}

#[test]
fn no_window_takes_segments_that_are_too_long_for_lost_ones() {
    // RFC 8201 §5.4. BBR hears of each segment that is lost, and would reduce.
    for entry in <dyn CongestionControl>::entries(&Registry::builtin()) {
        let window = entry.name;
        for timeouts in [0, 1] {
            let mut t = Timeline::connected(
                &plain().with_policies(|s| s.window = choose(window)),
                seg("S.").ack(1).mss(1000).sack_permitted(true).window(60_000),
            );
            t.write(4000);
            // Some pace what they send.
            let mut now = 30;
            t.run_to(now);
            while t.endpoint.connection.stats().timeouts < timeouts {
                now += 100;
                t.run_to(now);
            }
            let before = view(&t).window;
            let at = t.now();
            let c = &mut t.endpoint.connection;
            let (end, seq) = ("127.0.0.1:1".parse().unwrap(), c.view(at).snd_una);
            c.handle_icmp(
                at,
                &IcmpError { kind: TooBig { mtu: 640 }, from: end, to: end, seq, packet_len: 1040 },
            );
            // Before anything is retransmitted, which a window may hear of as well.
            assert_eq!((view(&t).window, view(&t).smss), (before, 600), "{window}, {timeouts} timeouts");
        }
    }
}

#[test]
fn acks_of_short_segments_in_between_indicate_no_congestion() {
    // With Nagle's algorithm off, five short ones after it.
    let mut t = Timeline::connected(
        &plain().with(|c| c.nagle = false),
        seg("S.").ack(1).mss(1000).sack_permitted(true).window(60_000),
    );
    t.write(1000);
    t.expect(0, seg("P.").seq(1).len(1000));
    for i in 0..5 {
        t.write(100);
        t.expect(0, seg("P.").seq(1001 + 100 * i).len(100));
    }
    let before = view(&t).window;
    t.inject_icmp(10, TooBig { mtu: 640 }, 1);
    t.expect(10, seg(".").seq(1).len(600));
    t.expect(10, seg(".").seq(601).len(400));
    for i in 1..=5 {
        t.inject(20, seg(".").seq(1).ack(1).sack(1001, 1001 + 100 * i));
    }
    t.expect_silence(50);
    assert_eq!(view(&t).window, before);
    t.inject(60, seg(".").seq(1).ack(1501));
    let stats = t.endpoint.connection.stats().clone();
    assert_eq!((stats.window_cuts, stats.timeouts, stats.fast_recoveries), (0, 0, 0));
}

#[test]
fn a_claimed_mtu_lowers_the_segment_size_to_a_floor_and_never_raises_it() {
    let above = |min_pmtu, mtu| {
        let mut t = sending(&plain().with(|c| c.min_pmtu = min_pmtu));
        t.inject_icmp(10, TooBig { mtu }, 1);
        (t.endpoint.connection.smss(), t.take_sent().len())
    };
    let size = |mtu| above(68, mtu);
    assert_eq!(size(9000), (1000, 0));
    assert_eq!(size(1040), (1000, 0));
    assert_eq!(size(1039), (999, 8));
    // RFC 1191 §3: none below 68 bytes, and ours is 64 bytes of payload.
    for mtu in [1, 67, 68, 104] {
        assert_eq!(size(mtu), (64, 4 * 16), "{mtu}");
    }
    assert_eq!(size(105), (65, 4 * 16));
    // The default floor is 552 bytes, as in Linux.
    for mtu in [1, 68, 105, 551, 552] {
        assert_eq!(above(plain().config.min_pmtu, mtu), (512, 4 * 2), "{mtu}");
    }
    assert_eq!(above(plain().config.min_pmtu, 553).0, 513);
    // RFC 1191 §5: an old router reports no MTU; the quoted packet has 1500 bytes.
    assert_eq!(size(0), (1000, 0));
    let mut t = Timeline::connected(&plain(), seg("S.").ack(1).mss(1460).window(60_000));
    t.write(2000);
    t.take_sent();
    for plateau in [1492, 1492] {
        t.inject_icmp(10, TooBig { mtu: 0 }, 1);
        assert_eq!(t.endpoint.connection.smss(), plateau - 40);
    }
    // Less the timestamps.
    let setup = plain().with(|c| c.timestamps = true);
    let mut t = Timeline::connected(&setup, seg("S.").ack(1).mss(1000).timestamps(1, 1).window(60_000));
    t.write(3000);
    t.take_sent();
    t.inject_icmp(10, TooBig { mtu: 576 }, 1);
    assert_eq!(t.endpoint.connection.smss(), 576 - 40 - 12);
}

/// The same once a segment of 1000 bytes has arrived: four more are outstanding.
fn proven(sacked: bool) -> Timeline {
    let mut t = sending(&plain());
    t.inject(10, if sacked { seg(".").seq(1).ack(1).sack(3001, 4001) } else { seg(".").seq(1).ack(1001) });
    t.take_sent();
    t
}

#[test]
fn a_size_that_was_delivered_is_lowered_only_when_the_quoted_segment_times_out() {
    // RFC 5927 §7.2.
    for sacked in [false, true] {
        let mut t = proven(sacked);
        t.inject_icmp(20, TooBig { mtu: 600 }, 1001);
        t.inject_icmp(21, TooBig { mtu: 700 }, 1001);
        t.expect_silence(50);
        assert_eq!(t.endpoint.connection.smss(), 1000, "SACK {sacked}");
        // The retransmission timer fires.
        t.expect_within(900, 1300, seg(".").seq(if sacked { 1 } else { 1001 }).len(560));
        assert_eq!(t.endpoint.connection.smss(), 560, "SACK {sacked}");
    }
}

#[test]
fn a_claim_about_a_segment_that_is_delivered_is_discarded() {
    let mut t = proven(false);
    t.inject_icmp(20, TooBig { mtu: 600 }, 1001);
    t.inject(30, seg(".").seq(1).ack(3001));
    // The last segment times out.
    t.expect_within(900, 1300, seg("P.").seq(3001).len(1000));
    assert_eq!(t.endpoint.connection.smss(), 1000);
    // A claim of at least the delivered size is no sign of an attack.
    let mut t = Timeline::connected(&plain(), seg("S.").ack(1).mss(1460).sack_permitted(true).window(60_000));
    t.write(100);
    t.expect(0, seg("P.").seq(1).len(100));
    t.inject(10, seg(".").seq(1).ack(101));
    t.write(4000);
    t.take_sent();
    t.inject_icmp(20, TooBig { mtu: 600 }, 101);
    assert_eq!(t.endpoint.connection.smss(), 560);
}

#[test]
fn over_ipv6_a_size_below_1280_is_discarded() {
    // RFC 8201 §4.
    let mut t = opening(true);
    t.inject(10, seg("S.").seq(0).ack(1).mss(1440).window(60_000));
    t.write(3000);
    t.take_sent();
    for mtu in [0, 68, 1279] {
        t.inject_icmp(20, TooBig { mtu }, 1);
        assert_eq!(t.endpoint.connection.smss(), 1440);
    }
    t.inject_icmp(20, TooBig { mtu: 1280 }, 1);
    assert_eq!(t.endpoint.connection.smss(), 1220);
}

#[test]
fn a_claimed_mtu_is_ignored_during_the_handshake() {
    for mut t in [opening(false), half_open()] {
        let state = t.state();
        t.inject_icmp(10, TooBig { mtu: 576 }, 0);
        assert_eq!(t.state(), state);
        t.expect_silence(20);
    }
}
