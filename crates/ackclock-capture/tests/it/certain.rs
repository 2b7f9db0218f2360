//! What a capture shows about a timeout, and what stays uncertain: segments written one by one, as Linux
//! sends them.

use ackclock_capture::{Analysis, Beginning, CapturedSegment, Cause, Direction, Options, Timeout, View};
use ackclock_units::{Instant, SeqNumber, SeqRange};
use ackclock_wire::{Flags, SackBlocks, Segment, Timestamps};

/// A connection of a client that sends, captured at it; the path and back takes 40 ms. Times are ms.
struct Talk {
    seen: Vec<CapturedSegment>,
    timestamps: bool,
    id: u16,
}

/// The clocks of both ends, at the time 0.
const CLOCKS: [u32; 2] = [500_000, 900_000];
/// The client's first byte of data, and the server's.
const FIRST: u32 = 1001;
const THEIRS: u32 = 5001;
/// Linux's first timeout after a round trip of 40 ms: it has at least 200 ms in the place of the deviation.
const RTO: u64 = 240;

impl Talk {
    fn new(sack: bool, timestamps: bool) -> Self {
        let mut talk = Self { seen: Vec::new(), timestamps, id: 7 };
        let mut opening = |at, side, seq, ack, flags| {
            talk.put(
                at,
                side,
                Segment {
                    seq: SeqNumber(seq),
                    ack: SeqNumber(ack),
                    flags,
                    window: 60_000,
                    ..Segment::default()
                },
                0,
            );
            let s = &mut talk.seen.last_mut().unwrap().segment.options;
            (s.mss, s.sack_permitted) = (Some(1460), sack);
        };
        opening(0, 0, FIRST - 1, 0, Flags::SYN);
        opening(40, 1, THEIRS - 1, FIRST, Flags::SYN | Flags::ACK);
        talk.put(40, 0, Segment { seq: SeqNumber(FIRST), ..answer(THEIRS, &[]) }, 40);
        // Enough samples for certainty, all as long as the handshake's.
        for n in 0..8 {
            let at = 50 + 50 * n;
            talk = talk.sent(at, FIRST + 100 * n as u32, 100).acked(
                at + 40,
                FIRST + 100 * (n as u32 + 1),
                at,
                &[],
            );
        }
        talk
    }

    fn put(&mut self, at: u64, side: usize, mut segment: Segment, echo: u64) {
        self.id += 1;
        if self.timestamps {
            // The server sent it half a round trip ago.
            let now = if side == 0 { at } else { at.saturating_sub(20) };
            segment.options.timestamps =
                Some(Timestamps { tsval: CLOCKS[side] + now as u32, tsecr: CLOCKS[1 - side] + echo as u32 });
        }
        let ends =
            [40_000, 80].map(|port| std::net::SocketAddr::from(([10, 0, 0, 1 + u8::from(port == 80)], port)));
        let at = Instant::from_nanos(at * 1_000_000 + self.seen.len() as u64);
        self.seen.push(CapturedSegment {
            at,
            src: ends[side],
            dst: ends[1 - side],
            id: self.id,
            hops: 64,
            interface: 0,
            options_cut: false,
            frame: 0,
            beginning: Beginning::default(),
            segment,
        });
    }

    /// The client sends.
    fn sent(mut self, at: u64, seq: u32, len: u32) -> Self {
        let s = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(THEIRS),
            len,
            window: 60_000,
            flags: Flags::ACK,
            ..Segment::default()
        };
        self.put(at, 0, s, at.saturating_sub(30));
        self
    }

    /// The server's ack is captured, which echoes what the client sent at `echo`.
    fn acked(mut self, at: u64, ack: u32, echo: u64, sack: &[(u32, u32)]) -> Self {
        self.put(at, 1, answer(ack, sack), echo);
        self
    }

    /// The same, delayed on its way: `since` is when it would have been captured otherwise.
    fn delayed(mut self, at: u64, since: u64, ack: u32, echo: u64, sack: &[(u32, u32)]) -> Self {
        self.put(since, 1, answer(ack, sack), echo);
        let late = self.seen.len() as u64;
        self.seen.last_mut().unwrap().at = Instant::from_nanos(at * 1_000_000 + late);
        self
    }

    fn analysed(self) -> Direction {
        let mut analysis = Analysis::new(Options::default());
        self.seen.iter().for_each(|s| analysis.packet(s.at, Ok(*s)));
        let mut report = analysis.finish();
        assert_eq!(report.connections.len(), 1);
        let [client, _] = report.connections.remove(0).directions;
        client
    }

    /// A segment that is lost, and retransmitted after each of these waits.
    fn lost(mut self, seq: u32, at: u64, waits: &[u64]) -> Self {
        self = self.sent(at, seq, 100);
        let mut now = at;
        for wait in waits {
            now += wait;
            self = self.sent(now, seq, 100);
        }
        self
    }
}

fn answer(ack: u32, sack: &[(u32, u32)]) -> Segment {
    let mut blocks = SackBlocks::NONE;
    sack.iter().for_each(|(from, to)| blocks.push(SeqRange::new(SeqNumber(*from), SeqNumber(*to))));
    let mut s = Segment {
        seq: SeqNumber(THEIRS),
        ack: SeqNumber(ack),
        window: 60_000,
        flags: Flags::ACK,
        ..Segment::default()
    };
    s.options.sack = blocks;
    s
}

/// Where the samples end.
const NEXT: u32 = FIRST + 800;
const START: u64 = 600;

fn rounds(d: &Direction) -> Vec<(u32, bool)> {
    d.timeouts.iter().map(|t| (t.round, t.round_certain)).collect()
}

fn only(d: &Direction) -> &Timeout {
    let [t] = &d.timeouts[..] else { panic!("{:?}", d.timeouts) };
    t
}

fn evidence(d: &Direction) -> &str {
    &d.retransmissions.last().unwrap().evidence
}

#[test]
fn a_probe_and_then_expiries_that_back_off() {
    let d = Talk::new(true, true).lost(NEXT, START, &[RTO, RTO, 2 * RTO]).analysed();
    assert_eq!((rounds(&d), d.of(Cause::TailLossProbe).count()), (vec![(1, true), (2, true)], 1));
}

#[test]
fn expiries_without_a_probe() {
    let d = Talk::new(true, true).lost(NEXT, START, &[RTO, 2 * RTO, 4 * RTO]).analysed();
    assert_eq!((rounds(&d), d.of(Cause::TailLossProbe).count()), (vec![(1, true), (2, true), (3, true)], 0));
}

#[test]
fn after_the_same_time_it_may_be_a_timer_that_does_not_back_off() {
    // tcp_thin_linear_timeouts: a probe and expiries, or expiries alone.
    for waits in [&[RTO, RTO][..], &[RTO, RTO, RTO]] {
        let d = Talk::new(true, true).lost(NEXT, START, waits).analysed();
        assert!(!d.timeouts.is_empty() && rounds(&d).iter().all(|(_, certain)| !certain), "{:?}", d.timeouts);
        assert!(
            d.retransmissions.iter().any(|r| r.evidence.contains("not certain")),
            "{:?}",
            d.retransmissions
        );
    }
    // Where this host is seen to back off, it is a probe.
    let d = Talk::new(true, true).lost(NEXT, START, &[RTO, 2 * RTO, 4 * RTO]).analysed();
    assert!(d.timeouts.iter().all(|t| t.round_certain));
}

#[test]
fn a_single_one_is_not_certain() {
    let d = Talk::new(true, true).lost(NEXT, START, &[RTO]).analysed();
    assert!(
        rounds(&d).iter().all(|(_, certain)| !certain) && evidence(&d).contains("not certain"),
        "{:?}",
        d.retransmissions
    );
}

#[test]
fn one_that_comes_when_only_a_probe_is_due_is_a_probe() {
    // A round trip of 440 ms raises the deviation: the timeout is far longer than the wait for a probe.
    let d = Talk::new(true, true).sent(START, NEXT, 100).acked(START + 440, NEXT + 100, START, &[]);
    let (probe, start) = (90 * 2 + 200, START + 500);
    let d = d.lost(NEXT + 100, start, &[probe]).analysed();
    assert_eq!((d.timeouts.len(), d.of(Cause::TailLossProbe).count()), (0, 1), "{:?}", d.retransmissions);
    assert!(evidence(&d).contains("too soon for the timer"), "{}", evidence(&d));
}

#[test]
fn no_probe_follows_one_that_was_not_acknowledged() {
    // An ack of exactly what the probe repeated does not end it: RFC 8985 §7.4 waits for more, or for a
    // duplicate.
    let at = START + RTO + 40;
    let d = Talk::new(true, true).lost(NEXT, START, &[RTO]).acked(at, NEXT + 100, START + RTO, &[]).lost(
        NEXT + 100,
        at + 5,
        &[RTO],
    );
    let d = d.analysed();
    assert_eq!(
        d.timeouts.last().map(|t| (t.seq, t.round, t.round_certain)),
        Some((SeqNumber(NEXT + 100), 1, true)),
        "{:?}",
        d.retransmissions
    );
}

#[test]
fn the_reordering_timer_of_rack_is_no_timeout() {
    // The second of two arrives; a quarter of a round trip later the first is retransmitted, without waiting
    // for a timeout.
    let d = Talk::new(true, true).sent(START, NEXT, 1448).sent(START, NEXT + 1448, 1448);
    let d = d
        .acked(START + 200, NEXT, START - 200, &[(NEXT + 1448, NEXT + 2896)])
        .sent(START + 214, NEXT, 1448)
        .analysed();
    assert_eq!((d.timeouts.len(), d.of(Cause::Rack).count()), (0, 1), "{:?}", d.retransmissions);
}

#[test]
fn a_segment_below_the_window_acknowledges_nothing() {
    // The server sends 200 bytes, which the client acknowledges; it retransmits the first of them, and has
    // received the client's data meanwhile.
    let data = |at, talk: &mut Talk, len, ack| talk.put(at, 1, Segment { len, ..answer(ack, &[]) }, 0);
    let mut talk = Talk::new(true, false);
    data(START, &mut talk, 200, NEXT);
    let known = Segment {
        seq: SeqNumber(NEXT),
        ack: SeqNumber(THEIRS + 200),
        window: 60_000,
        flags: Flags::ACK,
        ..Segment::default()
    };
    talk.put(START, 0, known, 0);
    talk.put(START + 1, 0, Segment { len: 100, ..known }, 0);
    data(START + 60, &mut talk, 100, NEXT + 100);
    talk.put(START + 1 + RTO, 0, Segment { len: 100, ..known }, 0);
    let d = talk.analysed();
    assert_eq!((d.bytes_acked, d.retransmissions.len()), (800, 1));
    assert!(evidence(&d).starts_with("the only segment outstanding"), "{}", evidence(&d));
}

/// Several segments are outstanding, so that it cannot be a probe; the first is retransmitted when its timer
/// has expired.
fn expired(sack: bool, timestamps: bool) -> (Talk, u64) {
    let talk = Talk::new(sack, timestamps).sent(START, NEXT, 1000).sent(START, NEXT + 1000, 1000);
    (talk.sent(START + RTO, NEXT, 1000), START + RTO)
}

fn verdict(talk: Talk) -> (Option<bool>, bool) {
    let d = talk.analysed();
    let t = only(&d);
    assert_eq!(t.eifel_certain, !evidence(&d).contains("whether a longer timer"), "{}", evidence(&d));
    (t.eifel_spurious, t.eifel_certain)
}

#[test]
fn an_ack_before_the_copy_can_have_arrived_is_the_originals() {
    let (talk, at) = expired(true, true);
    assert_eq!(verdict(talk.acked(at + 10, NEXT + 2000, START, &[])), (Some(true), true));
}

#[test]
fn an_ack_that_echoes_the_copy_is_the_copys() {
    let (talk, at) = expired(true, true);
    assert_eq!(verdict(talk.acked(at + 40, NEXT + 1000, at, &[])), (Some(false), true));
}

#[test]
fn a_duplicate_sack_in_the_first_ack_shows_that_the_originals_was_lost() {
    let (talk, at) = expired(true, true);
    assert_eq!(verdict(talk.acked(at + 40, NEXT + 2000, START, &[(NEXT, NEXT + 1000)])), (Some(false), true));
    // Or delayed: it arrives after all, and by the server's clock it was sent before the copy can have
    // arrived.
    let (talk, at) = expired(true, true);
    let talk = talk.acked(at + 40, NEXT + 2000, START, &[(NEXT, NEXT + 1000)]).delayed(
        at + 41,
        START + 40,
        NEXT + 1000,
        START,
        &[],
    );
    assert_eq!(verdict(talk), (Some(true), true));
    // Without timestamps, what it acknowledges shows that.
    let (talk, at) = expired(true, false);
    let talk =
        talk.acked(at + 40, NEXT + 2000, 0, &[(NEXT, NEXT + 1000)]).acked(at + 41, NEXT + 1000, 0, &[]);
    assert_eq!(verdict(talk), (Some(true), true));
}

#[test]
fn a_duplicate_sack_behind_the_ack_of_the_copy_may_be_the_networks() {
    let (talk, at) = expired(true, true);
    let talk =
        talk.acked(at + 40, NEXT + 1000, at, &[]).acked(at + 41, NEXT + 1000, at, &[(NEXT, NEXT + 1000)]);
    assert_eq!(verdict(talk), (Some(false), false));
    // If the copy was delayed, so was the original, which arrived after it.
    let (talk, at) = expired(true, true);
    let talk =
        talk.acked(at + 100, NEXT + 1000, at, &[]).acked(at + 101, NEXT + 1000, at, &[(NEXT, NEXT + 1000)]);
    assert_eq!(verdict(talk), (Some(true), false));
}

#[test]
fn an_early_echo_waits_for_a_duplicate_sack() {
    let (talk, at) = expired(true, true);
    let held_up = |talk: Talk| talk.acked(at + 100, NEXT + 2000, START, &[]);
    assert_eq!(verdict(held_up(talk)), (Some(true), false));
    let (talk, _) = expired(true, true);
    assert_eq!(
        verdict(held_up(talk).acked(at + 101, NEXT + 2000, START, &[(NEXT, NEXT + 1000)])),
        (Some(true), true)
    );
}

#[test]
fn without_timestamps_and_sack_a_delayed_ack_is_not_certain() {
    let (talk, at) = expired(false, false);
    assert_eq!(verdict(talk.acked(at + 40, NEXT + 1000, 0, &[])), (Some(false), true));
    let (talk, at) = expired(false, false);
    assert_eq!(verdict(talk.acked(at + 160, NEXT + 1000, 0, &[])), (Some(false), false));
    // Another one right after it: both copies arrived together.
    let (talk, at) = expired(false, false);
    assert_eq!(
        verdict(talk.acked(at + 40, NEXT + 1000, 0, &[]).acked(at + 41, NEXT + 1000, 0, &[])),
        (Some(true), false)
    );
}

#[test]
fn as_many_copies_as_have_late_acks_were_delayed() {
    // An original and two copies; after all of them arrive two acks, of the copies, or three.
    for (answers, spurious) in [(1, [false, false]), (2, [false, true]), (3, [true, true])] {
        let (talk, at) = expired(false, false);
        let mut talk = talk.sent(at + 2 * RTO, NEXT, 1000);
        for n in 0..answers {
            talk = talk.acked(at + 2 * RTO + 160 + n, NEXT + 1000, 0, &[]);
        }
        let d = talk.analysed();
        let found: Vec<_> = d.timeouts.iter().map(|t| (t.eifel_spurious, t.eifel_certain)).collect();
        assert_eq!(found, spurious.map(|s| (Some(s), false)), "{answers} answers");
    }
}

#[test]
fn without_sack_an_early_echo_of_the_first_alone_is_the_originals() {
    // If it covers later segments too, the ack shows that the original had arrived, and its own ack was lost.
    let (talk, at) = expired(false, true);
    assert_eq!(verdict(talk.acked(at + 40, NEXT + 2000, START, &[])), (Some(false), true));
    // It covers the first alone: what was sent right after it had not arrived yet.
    let (talk, at) = expired(false, true);
    assert_eq!(verdict(talk.acked(at + 40, NEXT + 1000, START, &[])), (Some(true), false));
}

#[test]
fn what_no_ack_covers_is_not_certain() {
    let (talk, _) = expired(true, true);
    assert_eq!(verdict(talk), (None, false));
}

#[test]
fn near_the_receiver_nothing_is_certain() {
    // The way to the server and back takes 1 ms from here, the one to the client 40: copies may be lost
    // before they reach the capture.
    let mut talk = Talk { seen: Vec::new(), timestamps: true, id: 7 };
    let of = |seq: u32, ack: u32, flags, len| Segment {
        seq: SeqNumber(seq),
        ack: SeqNumber(ack),
        flags,
        len,
        window: 60_000,
        ..Segment::default()
    };
    talk.put(20, 0, of(FIRST - 1, 0, Flags::SYN, 0), 0);
    talk.put(21, 1, of(THEIRS - 1, FIRST, Flags::SYN | Flags::ACK, 0), 20);
    talk.put(61, 0, of(FIRST, THEIRS, Flags::ACK, 0), 1);
    talk = talk.sent(62, FIRST, 100).acked(63, FIRST + 100, 62, &[]).sent(103, FIRST + 100, 100).sent(
        103 + RTO,
        FIRST + 100,
        100,
    );
    let d = talk.acked(104 + RTO, FIRST + 200, 103 + RTO, &[]).analysed();
    assert_eq!(d.view, View::Receiver);
    assert_eq!((only(&d).round_certain, only(&d).eifel_certain), (false, false));
}

fn causes(d: &Direction) -> Vec<Cause> {
    d.retransmissions.iter().map(|r| r.cause).collect()
}

#[test]
fn after_a_probe_the_timer_goes_on_from_the_oldest_segment() {
    // Two segments are lost. The probe of the second comes two round trips after it, and the timer of the
    // first expires half a round trip later.
    for timestamps in [true, false] {
        let d = Talk::new(true, timestamps)
            .sent(START, NEXT, 100)
            .sent(START + 140, NEXT + 100, 100)
            .sent(START + 220, NEXT + 100, 100)
            .sent(START + RTO, NEXT, 100)
            .sent(START + 3 * RTO, NEXT, 100)
            .acked(START + 3 * RTO + 40, NEXT + 200, START + 3 * RTO, &[])
            .analysed();
        assert_eq!(
            causes(&d),
            [Cause::TailLossProbe, Cause::Timeout, Cause::Timeout],
            "timestamps {timestamps}"
        );
        assert_eq!(rounds(&d), [(1, true), (2, true)], "timestamps {timestamps}");
    }
}

#[test]
fn without_timestamps_originals_that_come_late_one_by_one_turn_the_verdict() {
    // RFC 5682 §2.1, step 3b: an ack of the copy alone, then acks of what was not sent again.
    let fired = START + RTO;
    let held_up = |again: bool, then: u64| {
        let mut talk = Talk::new(true, false);
        for n in 0..4 {
            talk = talk.sent(START, NEXT + 100 * n, 100);
        }
        talk = talk.sent(fired, NEXT, 100).acked(fired + 40, NEXT + 100, 0, &[]);
        if again {
            talk = talk.sent(fired + 40, NEXT + 100, 100).sent(fired + 40, NEXT + 200, 100);
        }
        for n in 0..3 {
            talk = talk.acked(fired + 40 + then * (u64::from(n) + 1), NEXT + 200 + 100 * n, 0, &[]);
        }
        talk.analysed()
    };
    for (again, then, spurious) in [(false, 6, true), (true, 6, true), (true, 41, false)] {
        let d = held_up(again, then);
        let t = d.timeouts.first().expect("the expiry");
        assert_eq!(t.eifel_spurious, Some(spurious), "{again} {then} {:?}", d.retransmissions);
        assert!(!spurious || !t.eifel_certain, "its own original may have been lost");
    }
}
