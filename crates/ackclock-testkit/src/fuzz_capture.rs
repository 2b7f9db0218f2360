//! Bodies of the fuzz targets of the capture room.

use std::io::Cursor;
use std::net::SocketAddr;
use std::ops::ControlFlow;

use ackclock_capture::read::{Packets, decompressed};
use ackclock_capture::{Analysis, CapturedSegment, Connection, Direction, Options as Looks, Report};
use ackclock_policy::{Registry, Timing};
use ackclock_units::{Duration, Instant, SeqNumber, SeqRange};
use ackclock_wire::{Flags, Options, SackBlocks, Segment, Timestamps};
use arbitrary::{Arbitrary, Unstructured};

/// Reads `data` as a file, compressed or not, and takes it apart.
pub fn file(data: &[u8]) {
    let Ok(input) = decompressed(Cursor::new(data.to_vec())) else { return };
    let Ok(mut packets) = Packets::new(input) else { return };
    let mut analysis = Analysis::new(looks());
    analysis.list_packets(None, LISTED);
    let Ok(_) = analysis.read_on(1, &mut packets, |_| ControlFlow::Continue(())) else { return };
    check(&analysis.finish());
}

/// Packets listed: fewer than there may be.
const LISTED: usize = 3000;

/// Everything, and every timer in the place of the senders'.
fn looks() -> Looks {
    Looks { samples: true, what_if: Timing::all(&Registry::builtin()).into() }
}

/// A segment in relation to what was said before.
#[derive(Clone, Copy, Debug, Arbitrary)]
struct Line {
    from_client: bool,
    other_connection: bool,
    flags: u8,
    /// From where its sender is, and what it acknowledges from where the other one is.
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
    /// Exactly there.
    Here,
    /// So many hundreds from there.
    Hundreds(i8),
    /// From there.
    Bytes(i16),
    /// Anywhere.
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

/// Takes apart a conversation that nearly makes sense.
pub fn conversation(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let mut analysis = Analysis::new(looks());
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
        // Sometimes behind the time of the one before.
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
                segment,
            }),
        );
    }
    check(&analysis.finish());
}

/// Nothing lasts longer than the capture shows, and nothing happens outside of it.
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
    // More than 3,000 years are no time that was measured.
    assert!(d.retransmissions.iter().all(|r| !r.evidence.contains("18446744")), "{c:?}");
    assert!(d.episodes.iter().all(|e| within(e.began) && e.ended.is_none_or(within)), "{c:?}");
    assert!(d.samples.iter().all(|s| within(s.at) && s.rtt.is_none_or(|rtt| rtt <= lasted)), "{c:?}");
    assert!(d.rtt.max().is_none_or(|rtt| rtt <= lasted), "{c:?}");
    assert!(d.what_if.first().is_none_or(|run| run.stalls.iter().all(|s| s.waited <= lasted)), "{c:?}");
    let longest = d.what_if.iter().flat_map(|w| &w.stalls).map(|s| s.waited_most).max();
    assert!(longest.is_none_or(|waited| waited < Instant::FAR_FUTURE.since(c.end)), "{c:?}");
}

/// What must hold whatever was read.
fn check(report: &Report) {
    let listed: usize = report.connections.iter().map(|c| c.packets.len()).sum();
    assert!(listed <= LISTED && listed as u64 <= report.segments, "{listed}");
    for c in &report.connections {
        assert!(c.packets.is_sorted_by_key(|p| p.time), "{c:?}");
        for (side, d) in
            c.directions.iter().enumerate().filter(|(_, d)| c.packets_left_out == 0 && d.unlisted == 0)
        {
            let again =
                c.packets.iter().filter(|p| p.again && p.connection as usize % 2 == side).map(|p| p.kind);
            let told = d.retransmissions.iter().filter(|r| r.packets > 0).map(|r| Some(r.cause.word()));
            assert!(again.eq(told), "{c:?}");
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
    // The tables are made of the same.
    let tables = report.tables("fuzz", |_| true);
    assert_eq!(tables.directions.len(), 2 * report.connections.len());
}
