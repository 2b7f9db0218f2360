//! The examples of RFC 9959, appendix B, with packets of 1000 bytes.

use ackclock_units::{Duration, Instant, SeqNumber};

use super::*;
use crate::harness::{ack, view};
use crate::{AckInfo, ClassicSlowStart, Rtt, Value};

/// A sender whose packets are numbered from 1, with a round-trip time of 100 ms.
struct Example {
    window: CarefulResume,
    v: SenderView,
    pacing: Option<Pacing>,
}

const RTT: Duration = Duration::from_millis(100);

impl Example {
    /// Nothing is sent yet; the saved window is 300 packets.
    fn new(sets: &[(&str, Value)]) -> Self {
        let mut p = Params::defaults(ENTRY.params);
        for (name, value) in [
            ("base", Value::Choice("reno")),
            ("saved_cwnd", Value::Bytes(300_000)),
            ("saved_rtt", Value::Duration(RTT)),
        ]
        .iter()
        .chain(sets)
        {
            assert!(p.set(name, *value), "{name}");
        }
        let mut window = CarefulResume::new(&p);
        let rtt = Rtt { latest: RTT, srtt: RTT, rttvar: RTT / 2, min_rtt: RTT };
        let mut v = SenderView { rtt: Some(rtt), now: Instant::ZERO + RTT, ..view() };
        v.window = window.start(&v).window;
        assert_eq!(v.window.cwnd, 10_000, "IW");
        Self { window, v, pacing: None }
    }

    fn take(&mut self, control: Control) {
        (self.v.window, self.pacing) = (control.window, control.pacing);
    }

    /// Sends packets one by one.
    fn send(&mut self, packets: u32) {
        for _ in 0..packets {
            self.v.snd_nxt += 1000;
            self.v.flight_size += 1000;
            self.v.pipe = self.v.flight_size;
            let control = self
                .window
                .on(Feedback::Sent { bytes: 1000, retransmission: false, app_limited: false }, &self.v);
            self.take(control);
        }
    }

    /// An ack of everything up to packet `n`.
    fn ack(&mut self, n: u32) {
        let to = SeqNumber(1 + n * 1000);
        let newly = u64::from(to.bytes_since(self.v.snd_una));
        self.v.snd_una = to;
        self.v.flight_size -= newly;
        self.v.pipe = self.v.flight_size;
        let a = AckInfo { ack: to, ..ack(0, newly) };
        let control = self.window.on(Feedback::Ack(&a, &mut ClassicSlowStart), &self.v);
        self.take(control);
    }

    fn congestion(&mut self, c: Congestion) {
        let control = self.window.on(Feedback::Congestion(c), &self.v);
        self.take(control);
    }

    /// The initial ten packets were acknowledged one by one, and twenty more are in flight, when the last of
    /// these acks confirms the path: then 29 packets are in flight, counted from the one after it.
    fn confirmed(sets: &[(&str, Value)]) -> Self {
        let mut e = Self::new(sets);
        e.send(10);
        for n in 1..10 {
            e.ack(n);
        }
        // Packets 11 to 39, of which the ack of packet 10 leaves 29 in flight.
        e.send(29);
        e.ack(10);
        e
    }
}

fn is_validating(e: &Example) -> bool {
    matches!(e.window.phase, Phase::Validating { .. })
}

#[test]
fn the_window_jumps_to_half_of_the_saved_one_and_is_paced() {
    let e = Example::confirmed(&[]);
    // B.1: "initialises the PipeSize to the flight_size (in this case, 29 packets) and then sets the CWND to
    // 150 packets (based upon half of the previously observed saved_cwnd of 300 packets)".
    assert_eq!((e.window.pipe_size, e.v.window.cwnd), (29_000, 150_000));
    // §4.3.2: ITT = (current RTT x MPS)/jump_cwnd, here 100 ms / 150.
    let pacing = e.pacing.expect("paced");
    assert_eq!((pacing.rate, pacing.quantum), (Rate::from_transfer(150_000, RTT), 1000));
}

#[test]
fn without_loss_the_jump_is_validated() {
    // B.1: "The sender now sends 121 unvalidated packets (the unused portion of the current CWND)."
    let mut e = Example::confirmed(&[]);
    e.send(120);
    assert!(matches!(e.window.phase, Phase::Unvalidated { .. }));
    e.send(1);
    assert!(is_validating(&e), "flight_size = CWND");
    assert_eq!(e.v.window.cwnd, 150_000);
    assert_eq!(e.pacing, None);
    // "During this phase, the CWND can be increased for each ACK"; the last one ends Careful Resume. Packets
    // 11 to 39 were sent before, 40 to 160 in the unvalidated phase.
    for n in 11..160 {
        e.ack(n);
        assert!(is_validating(&e), "{n}");
    }
    assert_eq!(e.window.pipe_size, (29 + 120) * 1000, "the 29 packets count once");
    e.ack(160);
    assert_eq!(e.window.phase, Phase::Normal);
    assert_eq!((e.v.window.cwnd, e.v.window.ssthresh), (300_000, u64::MAX), "slow start went on");
}

#[test]
fn the_first_unvalidated_packet_that_is_acknowledged_ends_the_phase() {
    let mut e = Example::confirmed(&[]);
    e.send(100);
    for n in 11..=39 {
        e.ack(n);
        assert!(matches!(e.window.phase, Phase::Unvalidated { .. }), "{n}");
        assert_eq!(e.v.window.cwnd, 150_000, "not increased");
    }
    e.ack(40);
    assert!(is_validating(&e));
    assert_eq!(e.v.window.cwnd, 99_000, "flight_size");
}

#[test]
fn a_rate_limited_sender_keeps_what_it_used() {
    // B.2: only 50 unvalidated packets are sent. About a round trip later "it then enters the Validating Phase
    // and resets the CWND to the current flight_size (i.e., 50 packets)".
    let mut e = Example::confirmed(&[]);
    e.send(49);
    for n in 11..=39 {
        e.ack(n);
    }
    e.v.now += RTT + Duration::from_millis(1);
    e.send(1);
    assert!(is_validating(&e), "a round trip is over");
    assert_eq!((e.v.window.cwnd, e.window.pipe_size), (50_000, 29_000));
    // "by receiving an ACK for the first unvalidated packet", which has left the network then.
    let mut e = Example::confirmed(&[]);
    e.send(50);
    for n in 11..=40 {
        e.ack(n);
    }
    assert!(is_validating(&e), "the first is acknowledged");
    assert_eq!((e.v.window.cwnd, e.window.pipe_size), (49_000, 30_000));
    // "completes using Careful Resume when a received ACK acknowledges the last packet" of that phase.
    for n in 41..=89 {
        assert!(is_validating(&e), "{n}");
        e.ack(n);
    }
    assert_eq!((e.window.phase, e.window.pipe_size), (Phase::Normal, 79_000), "29 + 50");
}

#[test]
fn a_jump_that_was_hardly_used_is_taken_back() {
    // §3.3, check flight_size: no more in flight than PipeSize, 29 packets against 30.
    let mut e = Example::confirmed(&[]);
    e.send(30);
    for n in 11..=40 {
        e.ack(n);
    }
    assert_eq!((e.window.phase, e.v.window.cwnd), (Phase::Normal, 30_000));
    // One more is more.
    let mut e = Example::confirmed(&[]);
    e.send(32);
    for n in 11..=40 {
        e.ack(n);
    }
    assert_eq!((is_validating(&e), e.v.window.cwnd), (true, 31_000));
}

#[test]
fn loss_in_reconnaissance_ends_careful_resume() {
    // B.3
    let mut e = Example::new(&[]);
    e.send(10);
    e.ack(5);
    e.congestion(Congestion::Loss);
    assert_eq!(e.window.phase, Phase::Normal);
    let mut plain = (reno::ENTRY.build)(&Params::defaults(reno::ENTRY.params));
    let mut same = Example::new(&[]);
    same.send(10);
    same.ack(5);
    let reduced = plain.on(Feedback::Congestion(Congestion::Loss), &same.v).window;
    assert_eq!(e.v.window, reduced, "the same as if it had not been attempted");
}

#[test]
fn a_lost_unvalidated_packet_leads_to_the_safe_retreat() {
    // B.4: 29 packets and 34 unvalidated ones are acknowledged, then the 35th is found lost.
    let mut e = Example::confirmed(&[]);
    e.send(121);
    for n in 11..74 {
        e.ack(n);
    }
    assert_eq!(e.window.pipe_size, 63_000, "29 + 34");
    e.congestion(Congestion::Loss);
    assert!(matches!(e.window.phase, Phase::SafeRetreat { .. }));
    // "the CWND is reset to Max(10,PS/2) = Max(10,63/2) = 31 packets"
    assert_eq!(e.v.window.cwnd / 1000, 31);
    let before = e.v.window.cwnd;
    // "The sender continues to receive ACKs that acknowledge the remaining 86 (121-35) unvalidated packets."
    // Reported by SACK while the 35th is missing.
    for _ in 0..86 {
        let a = AckInfo { delivered: 1000, newly_sacked: 1000, may_grow: false, ..ack(e.v.snd_una.0, 0) };
        let control = e.window.on(Feedback::Ack(&a, &mut ClassicSlowStart), &e.v);
        e.take(control);
        assert_eq!(e.v.window.cwnd, before, "no further increase");
    }
    // The retransmitted packet is acknowledged with all others, which were delivered before.
    e.v.snd_una = SeqNumber(1 + 160 * 1000);
    let a = AckInfo { delivered: 0, may_grow: false, ..ack(e.v.snd_una.0, 0) };
    let control = e.window.on(Feedback::Ack(&a, &mut ClassicSlowStart), &e.v);
    e.take(control);
    assert_eq!(e.window.phase, Phase::Normal);
    // §3.5: ssthresh is PipeSize * Beta: 29 packets from before and 121 - 1 unvalidated ones. The example names
    // a PipeSize of 120 here, and of 29 + 34 above.
    assert_eq!((e.v.window.cwnd, e.v.window.ssthresh), (before, (29 + 120) * 500));
}

#[test]
fn another_path_is_not_resumed() {
    // §3.2: no longer than half of the saved time; §4.2.1: more than ten times.
    for (saved, jumps) in [(100, true), (199, true), (200, false), (10, true), (9, false), (0, true)] {
        let e = Example::confirmed(&[("saved_rtt", Value::Duration(Duration::from_millis(saved)))]);
        assert_eq!(e.v.window.cwnd == 150_000, jumps, "{saved}");
        assert_eq!(e.window.phase == Phase::Normal, !jumps, "{saved}");
    }
}

#[test]
fn the_jump_has_a_ceiling_and_must_lead_up() {
    let e = Example::confirmed(&[("max_jump", Value::Bytes(60_000))]);
    assert_eq!(e.v.window.cwnd, 60_000);
    let e = Example::confirmed(&[("saved_cwnd", Value::Bytes(40_000))]);
    assert_eq!((e.window.phase, e.v.window.cwnd), (Phase::Normal, 20_000), "already there");
    let e = Example::confirmed(&[("saved_cwnd", Value::Bytes(0))]);
    assert_eq!((e.window.phase, e.v.window.cwnd), (Phase::Normal, 20_000));
    assert_eq!(e.window.needs(), e.window.base_needs, "nothing more is measured");
}

#[test]
fn a_timeout_ends_careful_resume() {
    let mut e = Example::confirmed(&[]);
    e.send(50);
    e.congestion(Congestion::Rto { repeated: false });
    assert_eq!((e.window.phase, e.v.window.cwnd), (Phase::Normal, 1000));
    assert_eq!(e.v.window.ssthresh, 14_500, "half of what was validated");
}

#[test]
fn a_timeout_in_the_retreat_leaves_no_more_than_the_capacity_found() {
    let mut e = Example::confirmed(&[]);
    e.send(121);
    for n in 11..74 {
        e.ack(n);
    }
    e.congestion(Congestion::Loss);
    assert_eq!(e.v.flight_size, 87_000);
    // §3.5: "the ssthresh MUST be set to no larger than the most recently measured PipeSize * Beta", which is
    // 31.5 packets. Half of the window is less; half of the 87 packets in flight would be more.
    e.congestion(Congestion::Rto { repeated: false });
    assert_eq!((e.window.phase, e.v.window.cwnd, e.v.window.ssthresh), (Phase::Normal, 1000, 15_750));
}
