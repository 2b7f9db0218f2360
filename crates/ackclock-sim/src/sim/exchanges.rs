//! The tables of exchanges, rounds and videos.

use ackclock_policy::Playback;
use ackclock_trace::{ExchangeRow, FlowRow, PlaybackRow, RoundRow};
use ackclock_units::{Bytes, Duration, Instant, Rate};

use super::options::MeasuredSpan;
use super::state::Simulation;
use crate::endpoint::Flow;

/// An exchange of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// Number of the flow; set when it is taken from the flow.
    pub flow: u32,
    /// Number of the flow's source; set at the same time.
    pub source: u32,
    /// Its number among those of the flow.
    pub number: u32,
    /// When the request was made.
    pub since: Instant,
    /// When the response was complete.
    pub end: Instant,
    /// Bytes of the response.
    pub bytes: Bytes,
}

impl Exchange {
    /// Memory of an exchange and of its row, bytes.
    pub(crate) const HELD: usize = size_of::<Self>() + size_of::<ExchangeRow>();
}

/// What has been taken from flows: their exchanges and videos.
#[derive(Debug, Default)]
pub struct Taken {
    /// The exchanges.
    pub exchanges: Vec<Exchange>,
    /// Number of the flow, and what it has played in the counted part of the run.
    pub playbacks: Vec<(u32, Playback)>,
}

impl Taken {
    /// Takes the exchanges and the video of a flow that ends.
    pub(super) fn take(&mut self, flow: &mut Flow, measured: MeasuredSpan, now: Instant) {
        if let Some(playback) = flow.playback(measured, now) {
            self.playbacks.push((flow.number, playback));
        }
        let (number, source) = (flow.number, flow.info.kind.source);
        for rare in flow.ends.iter_mut().filter_map(|end| end.user.io.rare.as_mut()) {
            let exchanges = std::mem::take(&mut rare.exchanges);
            self.exchanges.extend(exchanges.into_iter().map(|e| Exchange { flow: number, source, ..e }));
        }
    }

    /// Number of exchanges.
    pub(super) fn len(&self) -> usize {
        self.exchanges.len()
    }

    /// Memory of its lists, bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        let (exchanges, playbacks) = (self.exchanges.capacity(), self.playbacks.capacity());
        let of_playback = size_of::<(u32, Playback)>() + size_of::<PlaybackRow>();
        (exchanges * Exchange::HELD + playbacks * of_playback) as u64
    }

    /// The tables. `flows` has a row for each flow, by number; `measured` says which part of the run they count;
    /// `rounds` gives the rounds of a source and the responses that complete the last one.
    pub fn tables(
        mut self,
        flows: &[FlowRow],
        measured: MeasuredSpan,
        rounds: impl Fn(u32) -> (u32, u64),
    ) -> (Vec<ExchangeRow>, Vec<RoundRow>, Vec<PlaybackRow>) {
        self.exchanges.sort_unstable_by_key(|e| (e.flow, e.number));
        let round_rows = match measured {
            MeasuredSpan::AfterEpisodes(_) => Vec::new(),
            MeasuredSpan::Whole => self.rounds(flows, Instant::ZERO, rounds),
            MeasuredSpan::From(from) => self.rounds(flows, from, rounds),
        };
        let counted = |e: &&Exchange| flows[e.flow as usize].measured_from.is_some_and(|from| e.end >= from);
        let exchange_row = |e: &Exchange| {
            let flow = &flows[e.flow as usize];
            ExchangeRow {
                run: flow.run.clone(),
                stack: flow.stack.clone(),
                flow: e.flow,
                group: flow.group.clone(),
                number: e.number,
                start: e.since,
                response_time: e.end.since(e.since),
                bytes: e.bytes,
            }
        };
        let exchange_rows = self.exchanges.iter().filter(counted).map(exchange_row).collect();
        self.playbacks.sort_unstable_by_key(|(flow, _)| *flow);
        let playback_rows =
            self.playbacks.iter().map(|(n, p)| playback_row(&flows[*n as usize], p)).collect();
        (exchange_rows, round_rows, playback_rows)
    }

    /// The complete rounds that ended at `from` or later.
    fn rounds(&self, flows: &[FlowRow], from: Instant, rounds: impl Fn(u32) -> (u32, u64)) -> Vec<RoundRow> {
        let mut all: Vec<&Exchange> = self.exchanges.iter().filter(|e| rounds(e.source).0 > 0).collect();
        all.sort_by_key(|e| (e.source, e.number, e.flow));
        let one = |round: &[&Exchange]| {
            let first = *round.first()?;
            let (begun, needed) = rounds(first.source);
            let (start, end) = round
                .iter()
                .fold((first.since, first.end), |(start, end), e| (start.min(e.since), end.max(e.end)));
            let complete = first.number + 1 < begun || round.len() as u64 >= needed;
            let row = &flows[first.flow as usize];
            let same = round.iter().all(|e| flows[e.flow as usize].stack == row.stack);
            let (time, bytes) = (end.since(start), round.iter().map(|e| e.bytes).sum());
            (complete && end >= from).then(|| RoundRow {
                run: row.run.clone(),
                stack: if same { row.stack.clone() } else { "mix".into() },
                group: row.group.clone(),
                round: first.number,
                start,
                completion_time: time,
                responses: round.len() as u32,
                bytes,
                goodput: goodput(bytes, time),
            })
        };
        all.chunk_by(|a, b| (a.source, a.number) == (b.source, b.number)).filter_map(one).collect()
    }
}

impl Simulation {
    /// Takes the exchanges and videos of flows that have not ended.
    pub(super) fn take_open_exchanges(&mut self) {
        let (measured, now) = (self.options.measured, self.net.now);
        for flow in self.flows.iter_mut().flatten().filter(|f| !f.ended) {
            self.taken.take(flow, measured, now);
        }
    }
}

fn goodput(bytes: Bytes, time: Duration) -> Option<Rate> {
    (!time.is_zero()).then(|| Rate::from_transfer(bytes, time))
}

fn playback_row(flow: &FlowRow, p: &Playback) -> PlaybackRow {
    let watched = (p.stalled + p.played).as_secs_f64();
    PlaybackRow {
        run: flow.run.clone(),
        stack: flow.stack.clone(),
        flow: flow.flow,
        group: flow.group.clone(),
        startup_delay: p.startup_delay,
        stalls: p.stalls,
        stalled: p.stalled,
        played: p.played,
        rebuffering: (watched > 0.0).then(|| p.stalled.as_secs_f64() / watched),
        chunks: p.chunks,
        bytes: p.bytes,
        bitrate: goodput(p.bytes, p.downloaded),
        switches: p.switches,
        buffer: p.buffer,
    }
}
