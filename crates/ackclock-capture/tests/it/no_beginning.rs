//! Waits that began before the capture, or whose beginning is unknown: they are never reported as longer than
//! the capture shows.

use std::net::SocketAddr;

use ackclock_capture::{Analysis, Beginning, CapturedSegment, Cause, Connection, Options, Report, Standing};
use ackclock_policy::{Registry, Timing};
use ackclock_units::{Duration, Instant, SeqNumber};
use ackclock_wire::{Flags, Segment, Timestamps};

const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);
const FIN_ACK: Flags = Flags(Flags::FIN.0 | Flags::ACK.0);

/// A packet: ms, whether its client sent it, flags, number, acknowledgment, payload.
type Line = (u64, bool, Flags, u32, u32, u32);

fn seen(line: &Line) -> CapturedSegment {
    let (ms, from_client, flags, seq, ack, len) = *line;
    let (client, server) =
        (SocketAddr::from(([192, 0, 2, 1], 40_000)), SocketAddr::from(([192, 0, 2, 2], 80)));
    let (src, dst) = if from_client { (client, server) } else { (server, client) };
    let segment = Segment {
        seq: SeqNumber(seq),
        ack: SeqNumber(ack),
        flags,
        window: 60_000,
        len,
        ..Segment::default()
    };
    CapturedSegment {
        at: Instant::from_nanos((1_000_000 + ms) * 1_000_000),
        src,
        dst,
        id: 0,
        hops: 64,
        interface: 0,
        options_cut: false,
        frame: 0,
        beginning: Beginning::default(),
        segment,
    }
}

fn report(lines: &[CapturedSegment]) -> Report {
    let what_if = Timing::all(&Registry::builtin()).into();
    let mut analysis = Analysis::new(Options { what_if, samples: true, ..Options::default() });
    lines.iter().for_each(|s| analysis.packet(s.at, Ok(*s)));
    analysis.finish()
}

/// The last connection, after checking every time in it against its duration.
fn taken(lines: &[Line]) -> Connection {
    let lines: Vec<CapturedSegment> = lines.iter().map(seen).collect();
    let mut report = report(&lines);
    let tables = report.tables("", |_| true);
    let lasted = lines.last().unwrap().at.since(lines[0].at);
    for c in &report.connections {
        for d in &c.directions {
            assert!(d.timeouts.iter().all(|t| t.rto <= lasted), "{d:?}");
            assert!(d.gaps.iter().chain(&d.gaps_by_time).all(|g| g.length <= lasted), "{d:?}");
            assert!(
                d.retransmissions
                    .iter()
                    .all(|r| !r.evidence.contains("18446744") && !r.evidence.contains("unknown time")),
                "{d:?}"
            );
            assert!(
                d.what_if.iter().flat_map(|w| &w.stalls).all(|s| s.waited <= lasted * 4),
                "{:?}",
                d.what_if
            );
        }
    }
    assert!(
        tables.directions.iter().all(|d| d.stalled <= lasted && d.timeout_time <= lasted),
        "{:?}",
        tables.directions
    );
    report.connections.pop().unwrap()
}

/// A request and its response; `[client, server]` are the first numbers.
fn talk(from: u64, [client, server]: [u32; 2]) -> Vec<Line> {
    vec![
        (from, true, Flags::ACK, client + 1, server + 1, 0),
        (from + 10, true, Flags::ACK, client + 1, server + 1, 100),
        (from + 50, false, Flags::ACK, server + 1, client + 101, 1000),
        (from + 90, true, Flags::ACK, client + 101, server + 1001, 0),
        (from + 100, true, FIN_ACK, client + 101, server + 1001, 0),
        (from + 140, false, FIN_ACK, server + 1001, client + 102, 0),
        (from + 180, true, Flags::ACK, client + 102, server + 1002, 0),
    ]
}

#[test]
fn a_challenge_before_the_handshake_is_no_endless_timeout() {
    // RFC 5961 §4.2: the server replies to the SYN with an ack of the connection that it still has there; the
    // client resets that, and retransmits its SYN. The server's new numbers lie below those of the earlier
    // connection, above them, or far away.
    let client = 1_000_000;
    for (old, new) in
        [(900_000_000, 700_000_000), (700_000_000, 900_000_000), (100, 3_000_000_000), (5_000_000, 4_999_000)]
    {
        for acked in [client - 500_000, client + 500_000, client + 2_000_000_000] {
            let mut lines = vec![
                (0, true, Flags::SYN, client, 0, 0),
                (40, false, Flags::ACK, old, acked, 0),
                (41, true, Flags::RST, acked, 0, 0),
                (1000, true, Flags::SYN, client, 0, 0),
                (1040, false, SYN_ACK, new, client + 1, 0),
            ];
            lines.extend(talk(1041, [client, new]));
            let c = taken(&lines);
            let [forth, back] = &c.directions;
            let what = format!("{old} {new} {acked}: {c:?}");
            assert_eq!(
                (forth.timeouts.len(), forth.retransmitted_packets, forth.of(Cause::Syn).count()),
                (1, 1, 1),
                "{what}"
            );
            assert_eq!(forth.timeouts[0].rto, Duration::from_secs(1), "{what}");
            assert_eq!(
                (back.timeouts.len(), back.retransmitted_packets, back.missing_bytes, forth.missing_bytes),
                (0, 0, 0, 0),
                "{what}"
            );
            assert_eq!(
                (forth.unique_bytes, back.unique_bytes, c.standing),
                (100, 1000, Standing::Closed),
                "{what}"
            );
        }
    }
}

#[test]
fn the_same_on_ports_that_the_capture_shows_in_use_before() {
    let mut lines = vec![(0, true, Flags::SYN, 7000, 0, 0), (40, false, SYN_ACK, 900_000_000, 7001, 0)];
    lines.extend(talk(41, [7000, 900_000_000]));
    let again = [
        (5000, true, Flags::SYN, 1_000_000, 0, 0),
        (5040, false, Flags::ACK, 900_001_002, 7102, 0),
        (5041, true, Flags::RST, 7102, 0, 0),
        (6000, true, Flags::SYN, 1_000_000, 0, 0),
        (6040, false, SYN_ACK, 800_000_000, 1_000_001, 0),
    ];
    lines.extend(again);
    lines.extend(talk(6041, [1_000_000, 800_000_000]));
    let c = taken(&lines);
    assert!(c.notes.iter().any(|n| n.contains("used before")), "{c:?}");
    let [forth, back] = &c.directions;
    assert_eq!(
        (forth.timeouts.len(), forth.timeouts[0].rto, back.timeouts.len(), back.retransmitted_packets),
        (1, Duration::from_secs(1), 0, 0)
    );
}

#[test]
fn a_wait_that_began_before_the_capture_counts_from_its_start() {
    // The capture begins with acks; what is sent then lies below them, or is the reply to an earlier SYN.
    let acks = |n: u64| (0..n).map(|i| (i * 400, true, Flags::ACK, 5000, 9000, 0)).collect::<Vec<Line>>();
    for n in [1, 2, 5] {
        for late in [
            (SYN_ACK, 8999, 0),
            (Flags::ACK, 8000, 1000),
            (FIN_ACK, 8500, 499),
            (Flags::ACK, 8999, 1),
            (Flags::ACK, 8999, 0),
        ] {
            let mut lines = acks(n);
            let (flags, seq, len) = late;
            lines.push((n * 400 + 100, false, flags, seq, 5000, len));
            lines.push((n * 400 + 140, true, Flags::ACK, 5000, 9000, 0));
            let c = taken(&lines);
            let [_, back] = &c.directions;
            assert!(back.timeouts.iter().all(|t| t.rto <= Duration::from_millis(n * 400 + 100)), "{back:?}");
        }
    }
}

#[test]
fn a_reset_of_the_connection_itself_is_one() {
    let lines = [
        (0, true, Flags::SYN, 1000, 0, 0),
        (40, false, SYN_ACK, 8000, 1001, 0),
        (41, true, Flags::ACK, 1001, 8001, 0),
        (50, false, Flags::ACK, 8001, 1001, 500),
        (51, true, Flags::RST, 1001, 0, 0),
    ];
    assert_eq!(taken(&lines).standing, Standing::Reset);
    let refused =
        [(0, true, Flags::SYN, 1000, 0, 0), (40, false, Flags(Flags::RST.0 | Flags::ACK.0), 0, 1001, 0)];
    assert_eq!(taken(&refused).standing, Standing::Refused);
}

#[test]
fn no_clock_makes_a_silence_longer_than_the_capture() {
    // Near the data's receiver, from a sender whose clock has an unknown tick, or leaps.
    for per_second in [3, 7, 33, 700, 100_000, 1 << 22] {
        let mut lines =
            vec![seen(&(0, true, Flags::SYN, 1000, 0, 0)), seen(&(1, false, SYN_ACK, 8000, 1001, 0))];
        lines.push(seen(&(60, true, Flags::ACK, 1001, 8001, 0)));
        let mut at = 60;
        for n in 0..60_u32 {
            at += if n % 10 == 9 { 1500 } else { 20 };
            let seq = if n % 10 == 9 { 1001 + (n - 3) * 100 } else { 1001 + n * 100 };
            lines.push(seen(&(at, true, Flags::ACK, seq, 8001, 100)));
            lines.push(seen(&(at + 1, false, Flags::ACK, 8001, 1001 + n * 100, 0)));
        }
        for s in &mut lines {
            let ms = s.at.as_nanos() / 1_000_000 - 1_000_000;
            s.segment.options.timestamps =
                Some(Timestamps { tsval: (1 << 31) + (ms * per_second / 1000) as u32, tsecr: 7 });
        }
        let lasted = lines.last().unwrap().at.since(lines[0].at);
        for c in report(&lines).connections {
            for d in &c.directions {
                assert!(
                    d.gaps.iter().all(|g| g.length <= lasted && g.from >= c.start && g.seen <= c.end),
                    "{per_second}: {:?}",
                    d.gaps
                );
                assert!(d.stalled() <= lasted);
            }
        }
    }
}
