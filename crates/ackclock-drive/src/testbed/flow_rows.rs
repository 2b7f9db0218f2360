//! The table of flows, from what the kernels report of both ends.

use ackclock_sim::scenario::{RealFlow, Resolved};
use ackclock_sim::{Exchange, MeasuredSpan, Taken as Exchanges};
use ackclock_trace::{FlowRow, Label, Outcome, Side};
use ackclock_units::{Bytes, Count, Duration, Instant, Rate};

use super::events::{EndEvents, Numbers};
use crate::flows::{FlowEnd, SideReport, Snapshot};
use crate::{Response, TcpCounts};

/// Columns of the table of flows that a kernel does not tell.
pub const UNKNOWN: &[&str] = &[
    "ca_events",
    "non_ca_events",
    "other_losses",
    "window_cuts",
    "ecn_reductions",
    "segments_acked",
    "p",
    "rtt_samples",
    "challenge_acks",
];

/// Both ends of all connections, as their sides report them.
pub(super) struct Ends<'a> {
    /// The clients' side and the servers'.
    pub(super) sides: [&'a SideReport; 2],
    /// From when on tables count.
    pub(super) measured: MeasuredSpan,
    /// Position of that moment, and of the end of `duration`, among those at which the sides were looked at.
    pub(super) warm: Option<usize>,
    pub(super) end: usize,
    /// When the run ended.
    pub(super) last: Instant,
}

/// A flow as a row needs it.
pub(super) struct FlowFacts<'a> {
    pub(super) number: usize,
    pub(super) flow: &'a RealFlow,
    pub(super) path_rtt: Duration,
    /// Mean of the smoothed round-trip times that were seen of each end while it had data in flight.
    pub(super) rtt_mean: [Option<Duration>; 2],
    /// Packets of each end that were dropped, and how long they waited, on average and at most in one queue.
    pub(super) met: [(u64, Option<[Duration; 2]>); 2],
    /// What each end has gone through, and the numbers of it that are known.
    pub(super) events: [&'a EndEvents; 2],
    pub(super) numbers: [Numbers; 2],
}

impl Ends<'_> {
    pub(super) fn flow_end(&self, side: usize, n: usize) -> &FlowEnd {
        &self.sides[side].ends[n]
    }

    /// What was seen of an end at a moment; `None` where it was not open then.
    fn snapshot(&self, moment: usize, side: usize, n: usize) -> Option<&Snapshot> {
        self.sides[side].taken.snapshots.get(moment)?.get(n)?.as_ref()
    }

    /// When flow `n` was opened, since the start of the run; `None` when the run ended before.
    pub(super) fn opened(&self, n: usize) -> Option<Duration> {
        self.sides[0].opened[n].0
    }

    /// From when on flow `n` counts; `None` when it was over before.
    pub(super) fn counts_from(&self, n: usize) -> Option<Instant> {
        let opened = Instant::ZERO + self.opened(n)?;
        let MeasuredSpan::From(from) = self.measured else { return Some(opened) };
        let over = self.flow_end(0, n).ended.is_some_and(|at| Instant::ZERO + at < from);
        (!over).then_some(opened.max(from))
    }

    /// The kernel's counters of an end from the moment that counts on.
    fn counted(&self, side: usize, n: usize) -> Option<TcpCounts> {
        let whole = self.flow_end(side, n).counts?;
        let before = self.warm.and_then(|moment| self.snapshot(moment, side, n)?.counts);
        Some(before.map_or(whole, |before| whole.since(&before)))
    }

    /// True when an end counts from its beginning.
    pub(super) fn is_whole(&self, side: usize, n: usize) -> bool {
        self.warm.is_none_or(|moment| self.snapshot(moment, side, n).is_none())
    }

    /// Bytes that an application has read by a moment (`None` is the end of the run).
    fn read_by(&self, moment: Option<usize>, side: usize, n: usize) -> Bytes {
        let end = self.flow_end(side, n);
        let Some(moment) = moment else { return end.read };
        if let Some(seen) = self.snapshot(moment, side, n) {
            return seen.read;
        }
        // It was not open: not yet, or no more.
        let looked = self.sides[side].taken.taken_at.get(moment);
        let over = end.ended.is_some_and(|at| looked.is_none_or(|looked| at <= *looked));
        if over { end.read } else { 0 }
    }

    /// Bytes delivered to the receiver of flow `n` from the moment that counts on, until the end of `duration`.
    pub(super) fn delivered_in_duration(&self, sender: usize, n: usize) -> Bytes {
        if self.counts_from(n).is_none() {
            return 0;
        }
        let until = self.read_by(Some(self.end), 1 - sender, n);
        until.saturating_sub(self.warm.map_or(0, |warm| self.read_by(Some(warm), 1 - sender, n)))
    }

    /// The end that has sent more: 0 for the client. While neither has, the server, as in a download.
    pub(super) fn sender(&self, n: usize) -> usize {
        let sent = |side: usize| {
            let end = self.flow_end(side, n);
            (end.counts.map_or(0, |c| c.bytes_sent), end.written)
        };
        usize::from(sent(1) >= sent(0))
    }

    /// The row of a flow that was opened.
    pub(super) fn row(&self, scenario: &Resolved, run: &Label, facts: &FlowFacts<'_>) -> Option<FlowRow> {
        let (n, flow) = (facts.number, facts.flow);
        let opened = self.opened(n)?;
        let start = Instant::ZERO + opened;
        let sender = self.sender(n);
        let [client, server] = [0, 1].map(|side| self.flow_end(side, n));
        let from = self.counts_from(n);
        let counted = |side: usize| from.and_then(|_| self.counted(side, n));
        let (s, other) = (counted(sender), counted(1 - sender));
        let number = |value: fn(&TcpCounts) -> u64| s.as_ref().map_or(0, value);
        // SYNs come before everything that a later baseline leaves out.
        let syns = if self.is_whole(sender, n) { [client, server][sender].syns } else { 0 };
        let (outcome, reason) = match (client.outcome, server.outcome) {
            (Outcome::Failed, _) => (Outcome::Failed, client.reason),
            (_, Outcome::Failed) => (Outcome::Failed, server.reason),
            (outcome, _) => (outcome, None),
        };
        let end = client.ended.map(|at| Instant::ZERO + at);
        let all: Vec<&Response> = client.responses.iter().chain(&server.responses).collect();
        let counts = |r: &&&Response| from.is_some_and(|from| Instant::ZERO + r.since + r.time >= from);
        let times: Vec<Duration> = all.iter().filter(counts).map(|r| r.time).collect();
        let response_time = match (times.len(), outcome, end) {
            // For an application that records no responses, the whole flow is one response, unless it just stops.
            (0, Outcome::Finished, Some(end)) if all.is_empty() && flow.size.is_some() => {
                Some(end.since(start))
            }
            (0, _, _) => None,
            (n, _, _) => Some(times.iter().copied().fold(Duration::ZERO, |sum, t| sum + t) / n as u64),
        };
        let delivered = from.map_or(0, |_| {
            let before = self.warm.map_or(0, |warm| self.read_by(Some(warm), 1 - sender, n));
            self.read_by(None, 1 - sender, n).saturating_sub(before)
        });
        let span = from.map_or(Duration::ZERO, |from| end.unwrap_or(self.last).since(from));
        let (dropped, waits) = facts.met[sender];
        let waits = waits.filter(|_| from.is_some());
        let node = |i: usize| Label::from(scenario.path.nodes[flow.nodes[i]].as_str());
        let told = facts.numbers[sender];
        let timeouts = |c: Option<TcpCounts>| c.and_then(|c| c.timeouts).unwrap_or(0) as u32;
        Some(FlowRow {
            run: run.clone(),
            stack: scenario.stacks[flow.stacks[sender]].label.as_str().into(),
            flow: n as u32,
            group: flow.group.clone(),
            protocol: "tcp",
            client: node(0),
            server: node(1),
            sender: if sender == 0 { Side::Client } else { Side::Server },
            start,
            established: self.sides[0].opened[n].1.map(|took| start + took),
            end,
            measured_from: from,
            size: flow.size,
            response_time,
            responses: times.len() as u32,
            outcome,
            reason,
            segments_sent: number(|c| c.segments_sent),
            data_segments_sent: number(|c| c.data_segments_sent),
            retransmitted_segments: number(|c| c.retransmitted_segments).saturating_sub(syns),
            bytes_sent: number(|c| c.bytes_sent),
            retransmitted_bytes: number(|c| c.retransmitted_bytes),
            // The kernel counts SYN and FIN as a byte each.
            bytes_acked: number(|c| c.bytes_acked).min(number(|c| c.bytes_sent)),
            bytes_delivered: delivered,
            dropped_packets: from.map(|_| dropped),
            queue_delay_mean: waits.map(|[mean, _]| mean),
            queue_delay_max: waits.map(|[_, longest]| longest),
            timeouts: timeouts(s),
            timeouts_by_round: told.timeouts_by_round.unwrap_or_default(),
            unneeded_retransmissions: from.map_or(0, |from| facts.events[sender].spurious_since(from)),
            spurious_timeouts: told.spurious_timeouts.unwrap_or(0),
            tail_loss_probes: told.tail_loss_probes.unwrap_or(0),
            fast_recoveries: told.fast_recoveries.unwrap_or(0),
            peer_timeouts: timeouts(other),
            syn_retransmissions: from.map_or(0, |_| (client.syns + server.syns) as u32),
            dsacks_received: s.and_then(|c| c.dsacks_received),
            reorderings: s.and_then(|c| c.reorderings),
            delivered_ce: s.and_then(|c| c.delivered_ce),
            busy_time: s.and_then(|c| c.busy),
            receiver_limited_time: s.and_then(|c| c.rwnd_limited),
            buffer_limited_time: s.and_then(|c| c.sndbuf_limited),
            rtt_min: s.and_then(|c| c.min_rtt),
            rtt_mean: facts.rtt_mean[sender],
            goodput: rate(delivered, span),
            path_rtt: Some(facts.path_rtt),
            ..FlowRow::default()
        })
    }

    /// Adds the exchanges and the video of a flow to those of the run.
    pub(super) fn take_exchanges(&self, facts: &FlowFacts<'_>, out: &mut Exchanges) {
        let n = facts.number;
        for side in 0..2 {
            let exchanges = self.flow_end(side, n).responses.iter().filter_map(|r| Some((r, r.bytes?)));
            out.exchanges.extend(exchanges.zip(0..).map(|((r, bytes), number)| Exchange {
                flow: n as u32,
                source: facts.flow.source as u32,
                number,
                since: Instant::ZERO + r.since,
                end: Instant::ZERO + r.since + r.time,
                bytes,
            }));
        }
        if let Some(whole) = self.flow_end(0, n).playback {
            let before = self.warm.and_then(|moment| self.snapshot(moment, 0, n)?.playback);
            out.playbacks.push((n as u32, before.map_or(whole, |before| whole.since(&before))));
        }
    }
}

/// Bytes per time; `None` without time.
pub(super) fn rate(bytes: Bytes, span: Duration) -> Option<Rate> {
    (!span.is_zero()).then(|| Rate::from_transfer(bytes, span))
}
