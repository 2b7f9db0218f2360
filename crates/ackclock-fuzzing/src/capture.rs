//! Any bytes as a capture, and captures of segments that the bytes describe.

use std::io::Cursor;
use std::net::SocketAddr;
use std::ops::ControlFlow;

use ackclock_capture::read::{Packets, decompressed};
use ackclock_capture::{
    Analysis, Beginning, CapturedSegment, Connection, Direction, Options as Looks, Report,
};
use ackclock_policy::{Registry, Timing};
use ackclock_units::{Duration, Instant, SeqNumber, SeqRange};
use ackclock_wire::{Flags, Options, SackBlocks, Segment, Timestamps};
use arbitrary::{Arbitrary, Unstructured};

/// Reads `data` as a capture file, compressed or not, and analyses it.
pub fn file(data: &[u8]) {
    let Ok(input) = decompressed(Cursor::new(data.to_vec())) else { return };
    let Ok(mut packets) = Packets::new(input) else { return };
    let mut analysis = Analysis::new(everything());
    analysis.list_packets(None, LISTED);
    let Ok(_) = analysis.read_on(1, &mut packets, |_| ControlFlow::Continue(())) else { return };
    check(&analysis.finish());
}

/// The most packets listed, fewer than a capture may hold.
pub(crate) const LISTED: usize = 3000;

/// Every analysis, with every timer in place of the senders'.
pub(crate) fn everything() -> Looks {
    Looks { samples: true, what_if: Timing::all(&Registry::builtin()).into(), ..Looks::default() }
}

/// A segment relative to the ones before it.
#[derive(Clone, Copy, Debug, Arbitrary)]
struct Line {
    from_client: bool,
    other_connection: bool,
    flags: u8,
    /// The sequence number relative to the sender's, and the acknowledgment number relative to the peer's.
    seq: Step,
    ack: Step,
    len: u16,
    window: u16,
    id: u8,
    hops: u8,
    waits: u16,
    timestamps: Option<(i8, i8)>,
    sack: [Option<(Step, u16)>; 3],
    opening: Option<(u16, u8, bool)>,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Step {
    /// Exactly the expected number.
    Here,
    /// A multiple of 100 from there.
    Hundreds(i8),
    /// A number of bytes from there.
    Bytes(i16),
    /// Any number.
    Any(u32),
}

impl Step {
    fn from(self, at: u32) -> u32 {
        match self {
            Self::Here => at,
            Self::Hundreds(n) => at.wrapping_add_signed(100 * i32::from(n)),
            Self::Bytes(n) => at.wrapping_add_signed(i32::from(n)),
            Self::Any(n) => n,
        }
    }
}

/// Analyses a conversation with few invalid segments.
pub fn conversation(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let mut analysis = Analysis::new(everything());
    analysis.list_packets(None, LISTED);
    let ends = [
        SocketAddr::from(([192, 0, 2, 1], 1)),
        SocketAddr::from(([192, 0, 2, 2], 2)),
        SocketAddr::from(([192, 0, 2, 2], 3)),
    ];
    let mut next = [0xffff_ff00_u32, 7];
    let (mut at, mut clock) = (Instant::from_nanos(1_000_000_000), 5_u32);
    for _ in 0..4000 {
        let Ok(line) = Line::arbitrary(&mut input) else { break };
        let side = usize::from(!line.from_client);
        let there = if line.other_connection { ends[2] } else { ends[1] };
        let (src, dst) = if line.from_client { (ends[0], there) } else { (there, ends[0]) };
        at += Duration::from_micros(u64::from(line.waits) * 37);
        let mut sack = SackBlocks::NONE;
        for (step, len) in line.sack.into_iter().flatten() {
            let start = SeqNumber(step.from(next[1 - side]));
            sack.push(SeqRange::new(start, start + u32::from(len)));
        }
        let timestamps = line.timestamps.map(|(val, ecr)| {
            clock = clock.wrapping_add_signed(i32::from(val));
            Timestamps { tsval: clock, tsecr: clock.wrapping_add_signed(i32::from(ecr)) }
        });
        let (mss, window_scale, sack_permitted) =
            line.opening.map_or((None, None, false), |(m, w, s)| (Some(m), Some(w), s));
        let options = Options { mss, window_scale, sack_permitted, timestamps, sack, accecn: None };
        let seq = line.seq.from(next[side]);
        let ack = line.ack.from(next[1 - side]);
        let segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            len: line.len.into(),
            window: line.window,
            flags: Flags(line.flags.into()),
            urgent: 0,
            options,
        };
        if matches!(line.seq, Step::Here) {
            next[side] = seq.wrapping_add(segment.seq_len());
        }
        // Sometimes earlier than the one before.
        let seen =
            if line.hops == 0 { at.saturating_sub(Duration::from_millis(u64::from(line.id))) } else { at };
        analysis.packet(
            seen,
            Ok(CapturedSegment {
                at: seen,
                src,
                dst,
                id: line.id.into(),
                hops: line.hops,
                interface: 0,
                options_cut: false,
                frame: 0,
                beginning: Beginning::default(),
                segment,
            }),
        );
    }
    check(&analysis.finish());
}

/// No interval is longer than the capture, and no event lies outside it.
fn check_times(c: &Connection, d: &Direction) {
    let lasted = c.end.since(c.start);
    let within = |at: Instant| c.start <= at && at <= c.end;
    assert!(
        d.timeouts_by_rule()
            .all(|t| t.rto <= lasted && within(t.at) && t.at.saturating_sub(t.rto) >= c.start),
        "{c:?}"
    );
    assert!(d.stalled() <= lasted, "{c:?}");
    assert!(d.retransmissions.iter().all(|r| within(r.at) && !r.evidence.contains("unknown time")), "{c:?}");
    // 18446744 is the start of a difference that wrapped below zero.
    assert!(d.retransmissions.iter().all(|r| !r.evidence.contains("18446744")), "{c:?}");
    assert!(d.episodes.iter().all(|e| within(e.began) && e.ended.is_none_or(within)), "{c:?}");
    assert!(d.samples.iter().all(|s| within(s.at) && s.rtt.is_none_or(|rtt| rtt <= lasted)), "{c:?}");
    assert!(d.rtt.max().is_none_or(|rtt| rtt <= lasted), "{c:?}");
    assert!(d.what_if.first().is_none_or(|run| run.stalls.iter().all(|s| s.waited <= lasted)), "{c:?}");
    let longest = d.what_if.iter().flat_map(|w| &w.stalls).map(|s| s.waited_most).max();
    assert!(longest.is_none_or(|waited| waited < Instant::FAR_FUTURE.since(c.end)), "{c:?}");
}

/// What must hold for every input.
pub(crate) fn check(report: &Report) {
    let listed: usize = report.connections.iter().map(|c| c.packets.len()).sum();
    assert!(listed <= LISTED && listed as u64 <= report.segments, "{listed}");
    for c in &report.connections {
        assert!(c.packets.is_sorted_by_key(|p| p.time), "{c:?}");
        for (side, d) in
            c.directions.iter().enumerate().filter(|(_, d)| c.packets_left_out == 0 && d.unlisted == 0)
        {
            let again = c.packets.iter().filter(|p| p.again && p.connection as usize % 2 == side);
            let causes = d.retransmissions.iter().filter(|r| r.packets > 0);
            // The two tables need not agree on the order of packets that have one time.
            let mut again: Vec<_> = again.map(|p| (p.time, p.kind)).collect();
            let mut causes: Vec<_> = causes.map(|r| (r.at, Some(r.cause.word()))).collect();
            again.sort_unstable();
            causes.sort_unstable();
            assert_eq!(again, causes, "listed and counted, side {side}: {c:?}");
        }
        assert!(c.start <= c.end, "{c:?}");
        for d in &c.directions {
            assert!(d.data_packets <= d.packets, "{d:?}");
            assert!(d.unique_bytes <= d.bytes, "each byte once, and no more than all: {d:?}");
            assert!(d.retransmitted_bytes <= d.bytes, "{d:?}");
            assert!(d.spurious_packets <= d.retransmitted_packets, "{d:?}");
            let listed: u64 = d.retransmissions.iter().map(|r| u64::from(r.packets)).sum();
            assert!(d.unlisted > 0 || listed == d.retransmitted_packets, "{d:?}");
            assert!(d.timeouts.iter().all(|t| t.round >= 1), "{d:?}");
            check_times(c, d);
            assert!(d.episodes.iter().all(|e| e.ended.is_none_or(|end| end >= e.began)), "{d:?}");
            assert!(d.rtt.min() <= d.rtt.max() && d.rtt.quantile(0.5) <= d.rtt.max(), "{d:?}");
            let shared = d.limits.parts().iter().fold(Duration::ZERO, |sum, part| sum + part.1);
            assert_eq!(shared, c.end.since(c.start), "{d:?}");
            for w in &d.what_if {
                assert!(
                    w.waited_least <= w.waited
                        && w.waited <= w.waited_most
                        && w.spurious + w.early <= w.timeouts,
                    "{w:?}"
                );
            }
            assert!(d.share.is_none_or(|s| (0.0..=1.0).contains(&s)), "{d:?}");
        }
    }
    // The tables hold the same numbers.
    let tables = report.tables("fuzz", |_| true);
    assert_eq!(tables.directions.len(), 2 * report.connections.len());
}
