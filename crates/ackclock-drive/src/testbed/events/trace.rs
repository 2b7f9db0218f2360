//! The tables of a scenario's `trace`, as far as a kernel and the emulator tell them.

use ackclock_sim::PacketKind;
use ackclock_trace::{
    EpisodeRow, LossClass, Mask, SampleRow, SegmentRow, SendKind, Side, StateRow, TracedRows,
};
use ackclock_units::{Bytes, Instant};

use super::{EndEvents, Events, LOSS, OPEN, RECOVERY, Sample, What};
use crate::emulator::{LoggedSegment, StreamLog};

/// Columns of the table of episodes that a kernel does not tell.
pub const UNKNOWN_OF_EPISODES: &[&str] = &["recovery_point", "losses", "lost_bytes"];
/// `TCP_INFINITE_SSTHRESH` of Linux.
const UNBOUNDED: u32 = 0x7fff_ffff;

/// The rows that `trace` asks for, up to `last`. `mss` is the payload of a full segment of a stream.
pub(crate) fn trace_rows(
    (trace, last): (Mask, Instant),
    events: &Events,
    log: &StreamLog,
    ends: &[EndEvents],
    mss: impl Fn(u32) -> Bytes,
) -> TracedRows {
    let mut rows = TracedRows::default();
    if trace.any(Mask::SAMPLES) {
        rows.samples = samples(events, ends.len(), mss);
    }
    for (end, stream) in ends.iter().zip(0..) {
        if trace.any(Mask::EPISODES) {
            rows.episodes.extend(episodes(end, stream));
        }
        if trace.any(Mask::STATE) {
            let (flow, side) = Side::of_connection(stream);
            rows.state.extend(end.states.iter().map(|(time, state)| StateRow {
                time: *time,
                connection: stream,
                flow,
                side,
                policy: "recovery",
                name: "ca_state",
                value: f64::from(*state),
            }));
        }
    }
    if trace.any(Mask::PACKETS) {
        rows.segments = log.segments.iter().flatten().map(|segment| segment_row(segment, ends)).collect();
    }
    // Connections that are closed then go on for a while.
    rows.samples.retain(|row| row.time <= last);
    rows.episodes.retain(|row| row.begin <= last);
    rows.segments.retain(|row| row.time <= last);
    rows.state.retain(|row| row.time <= last);
    rows.episodes.sort_by_key(|row| (row.begin, row.connection));
    rows.state.sort_by_key(|row| (row.time, row.connection));
    rows.segments.sort_by_key(|row| (row.time, row.connection));
    rows
}

/// A row for each packet that arrives at an end with data outstanding.
fn samples(events: &Events, streams: usize, mss: impl Fn(u32) -> Bytes) -> Vec<SampleRow> {
    let mut states = vec![OPEN; streams];
    let mut rows = Vec::new();
    for seen in &events.all {
        let Some(state) = states.get_mut(seen.stream as usize) else { continue };
        match seen.what {
            What::State(entered) => *state = entered,
            What::Sample(sample) if sample.outstanding > 0 => {
                let (flow, side) = Side::of_connection(seen.stream);
                let bytes = |segs: u32| u64::from(segs) * mss(seen.stream);
                rows.push(SampleRow {
                    time: seen.at,
                    connection: seen.stream,
                    flow,
                    side,
                    srtt: (!sample.srtt.is_zero()).then_some(sample.srtt),
                    cwnd: Some(bytes(sample.cwnd_segs)),
                    ssthresh: ssthresh(&sample, *state).map(bytes),
                    // Elsewhere some of it is SACKed or lost.
                    pipe: (*state == OPEN).then_some(sample.outstanding.into()),
                    ..SampleRow::default()
                });
            }
            _ => {}
        }
    }
    rows
}

/// The slow-start threshold, where the kernel's record has it: outside of a reduction it has the larger one of it and
/// three quarters of the window (`tcp_current_ssthresh`).
fn ssthresh(sample: &Sample, state: u8) -> Option<u32> {
    let reducing = matches!(state, super::CWR | RECOVERY);
    let least = (sample.cwnd_segs >> 1) + (sample.cwnd_segs >> 2);
    Some(sample.ssthresh_segs).filter(|segs| *segs < UNBOUNDED && (reducing || *segs > least))
}

/// The episodes of an end: from its entry into recovery or loss until it leaves both.
fn episodes(end: &EndEvents, connection: u32) -> Vec<EpisodeRow> {
    let (flow, side) = Side::of_connection(connection);
    let mut rows: Vec<EpisodeRow> = Vec::new();
    let mut open = None;
    for (at, state) in &end.states {
        match (*state >= RECOVERY, &mut open) {
            (true, None) => {
                let class = class(*state);
                open =
                    Some(EpisodeRow { connection, flow, side, class, begin: *at, ..EpisodeRow::default() });
            }
            (true, Some(row)) if *state == LOSS => row.class = LossClass::NonCa,
            (false, Some(_)) => {
                rows.extend(open.take().map(|row| EpisodeRow { end: Some(*at), ..row }));
            }
            _ => {}
        }
    }
    rows.extend(open);
    rows.iter_mut().for_each(|row| fill(row, end));
    rows
}

fn class(state: u8) -> LossClass {
    if state == LOSS { LossClass::NonCa } else { LossClass::Ca }
}

/// What happened in an episode.
fn fill(row: &mut EpisodeRow, end: &EndEvents) {
    let inside = |at: Instant| at >= row.begin && row.end.is_none_or(|end| at < end);
    let expiries: Vec<_> = end.timeouts.iter().filter(|timeout| inside(timeout.at)).collect();
    let repeated: Vec<_> = end.retransmissions.iter().filter(|r| r.len > 0 && inside(r.at)).collect();
    row.rounds = expiries.iter().filter_map(|timeout| Some(timeout.told?.0)).max().unwrap_or(0);
    row.timeouts = expiries.len() as u32;
    row.retransmissions = repeated.len() as u32;
    row.spurious = !repeated.is_empty() && repeated.iter().all(|r| r.spurious);
}

fn segment_row(s: &LoggedSegment, ends: &[EndEvents]) -> SegmentRow {
    let (flow, side) = Side::of_connection(s.stream);
    let repeats = || match ends.get(s.stream as usize).map_or(OPEN, |end| end.state_of_retransmission(s.at)) {
        LOSS => SendKind::TimeoutRetransmit,
        RECOVERY => SendKind::FastRetransmit,
        _ => SendKind::TailLossProbe { again: true },
    };
    let kind = match s.kind {
        PacketKind::Syn => SendKind::Syn { repeat: 0 },
        PacketKind::Reset => SendKind::Reset,
        PacketKind::Data | PacketKind::Fin if s.retransmission => repeats(),
        PacketKind::Data | PacketKind::Fin => SendKind::New,
        _ => SendKind::Ack,
    };
    SegmentRow {
        time: s.at,
        connection: s.stream,
        flow,
        side,
        sent: s.sent,
        kind: s.sent.then_some(kind.word()),
        seq: s.seq,
        len: s.len,
        ack: s.ack,
    }
}
