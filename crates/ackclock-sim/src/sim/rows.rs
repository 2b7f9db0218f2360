//! The tables of a run: rows of flows, of sources of datagrams and of links.

use std::collections::BTreeMap;

use ackclock_engine::AbortReason;
use ackclock_trace::{FlowRow, Label, LinkRow, Outcome, Side};
use ackclock_units::{Bytes, Duration, Rate};

use super::options::RunOutcome;
use super::state::{Simulation, TRACED_DATAGRAMS};
use crate::endpoint::{End, Flow};
use crate::error::SimError;
use crate::link::{LinkLabels, Passed};

impl Simulation {
    /// Checks conservation and returns the tables of the run.
    pub(super) fn tables(mut self) -> Result<RunOutcome, SimError> {
        self.check_packets_in_flight()?;
        self.take_open_exchanges();
        let mut rows = std::mem::take(&mut self.rows);
        let open = (0..)
            .zip(&self.flows)
            .filter_map(|(slot, f)| Some((slot, f.as_ref()?)))
            .filter(|(_, f)| !f.ended && f.info.kind.stacks.is_some());
        for (slot, flow) in open {
            flow.check_bytes()?;
            rows.push(self.flow_row(slot, flow));
        }
        rows.sort_by_key(|row| row.flow);
        let sources = &self.flow_sources;
        let (exchanges, rounds, playbacks) =
            std::mem::take(&mut self.taken)
                .tables(&rows, self.options.measured, |source| sources[source as usize].barrier.rounds());
        let flows = rows.len() as u32;
        for event in self.trace.iter_mut().filter(|e| e.connection & TRACED_DATAGRAMS != 0) {
            event.connection = (event.connection & !TRACED_DATAGRAMS) + 2 * flows;
        }
        for place in &self.datagrams {
            // A source keeps its slot for the whole run.
            if let Some(flow) = &self.flows[place.flow as usize] {
                rows.push(self.datagram_row(place.flow, flow, rows.len() as u32));
            }
        }
        let links = self.counted_links();
        let series = self.series.take();
        let (flow_series, link_series) = series.map_or_else(Default::default, |s| s.rows(flows));
        Ok(RunOutcome {
            flows: rows,
            links,
            flow_series,
            link_series,
            exchanges,
            rounds,
            playbacks,
            events: std::mem::take(&mut self.trace),
            processed: self.processed,
        })
    }

    /// For each link, the packets that have left it at its far end but are still in an access delay, and how
    /// many of them are damaged.
    pub(super) fn behind_links(&self) -> Vec<(u64, u64)> {
        let mut behind = vec![(0, 0); self.net.links.len()];
        for (p, at) in self.net.arrivals() {
            let Some(link) = self.link_of(p) else { continue };
            let last = u32::from(p.hop) == self.net.ports[p.from as usize].hops();
            let exit = if last { at.saturating_sub(self.net.ports[p.from as usize ^ 1].down) } else { at };
            if exit <= self.net.now {
                let (all, corrupt) = &mut behind[link as usize];
                *all += 1;
                *corrupt += u64::from(p.is_corrupt());
            }
        }
        behind
    }

    /// The row of link `i`. `behind` and `behind_corrupt` come from [`Simulation::behind_links`].
    pub(super) fn link_row(&mut self, i: usize, (behind, behind_corrupt): (u64, u64)) -> LinkRow {
        let labels = self.link_labels(i);
        let place = &mut self.net.links[i];
        let passed = Passed {
            over: place.delivered + behind,
            corrupted: place.delivered_corrupt + behind_corrupt,
            repeated: Some(place.repeated),
            unique_bytes: Some(place.unique_bytes),
        };
        place.link.row(self.net.now, labels, passed)
    }

    /// What names link `i` in the tables.
    pub(super) fn link_labels(&self, i: usize) -> LinkLabels {
        let [name, from, to] = self.net.routes.link_labels(i);
        let (run, stack) = (self.options.run.clone(), self.options.stack.clone());
        LinkLabels { run, stack, link: i as u32, name, from, to }
    }

    /// The row of the flow in `slot`, as of now.
    pub(super) fn flow_row(&self, slot: u32, flow: &Flow) -> FlowRow {
        let info = &flow.info;
        let whole = flow.stats();
        // The sender is the side that sent more; while neither has sent, the server, as in a download.
        let sent = |side: usize| (whole[side].bytes_sent, flow.ends[side].user.io.written);
        let side = usize::from(sent(1) >= sent(0));
        let (from, counted) = flow.counted(self.options.measured, self.net.now);
        let (s, other) = (&counted.stats[side], &counted.stats[1 - side]);
        let over = flow.ends.each_ref().map(End::over);
        let reason = over.iter().flatten().find_map(|o| o.reason);
        let ended = over[0].is_some();
        let end = over[0].map(|o| o.at);
        let outcome = match (ended, reason) {
            (false, _) => Outcome::Unfinished,
            (true, None) if flow.is_orderly() => Outcome::Finished,
            (true, _) => Outcome::Failed,
        };
        let (responses, response_sum) = counted.responses;
        let response_time = match (responses, outcome, end) {
            // For an application that records no responses, the whole flow is one response, unless it just
            // stops.
            (0, Outcome::Finished, Some(end)) if flow.responses().0 == 0 && info.size().is_some() => {
                Some(end.since(flow.start))
            }
            (0, _, _) => None,
            (n, _, _) => Some(response_sum / u64::from(n)),
        };
        let delivered = other.bytes_received;
        let span = from.map_or(Duration::ZERO, |from| end.unwrap_or(self.net.now).since(from));
        let stack = match (&info.kind.stacks, self.options.stack.is_empty()) {
            (Some(stacks), true) => stacks[side].label(),
            _ => self.options.stack.clone(),
        };
        let e = 2 * slot + side as u32;
        let waits = from.and_then(|_| self.net.waits_of(e));
        FlowRow {
            run: self.options.run.clone(),
            stack,
            flow: flow.number,
            group: info.kind.group.clone(),
            protocol: "tcp",
            client: self.net.routes.node_label(info.kind.client),
            server: self.net.routes.node_label(info.kind.server),
            sender: if side == 0 { Side::Client } else { Side::Server },
            start: flow.start,
            established: whole[0].established_at.get(),
            end,
            measured_from: from,
            size: info.size(),
            response_time,
            responses,
            outcome,
            reason: reason.map(AbortReason::word),
            segments_sent: s.segments_sent,
            data_segments_sent: s.data_segments_sent,
            retransmitted_segments: s.retransmitted_segments,
            bytes_sent: s.bytes_sent,
            retransmitted_bytes: s.retransmitted_bytes,
            bytes_acked: s.bytes_acked,
            bytes_delivered: delivered,
            dropped_packets: from.map(|_| self.net.dropped_of(e)),
            queue_delay_mean: waits.map(|[mean, _]| mean),
            queue_delay_max: waits.map(|[_, longest]| longest),
            timeouts: s.timeouts,
            timeouts_by_round: s.timeouts_by_round,
            peer_timeouts: other.timeouts,
            syn_retransmissions: s.syn_retransmissions + other.syn_retransmissions,
            unneeded_retransmissions: counted.spurious_retransmissions[side],
            spurious_timeouts: counted.spurious_timeouts[side],
            tail_loss_probes: s.tail_loss_probes,
            fast_recoveries: s.fast_recoveries,
            ca_events: s.ca_events,
            non_ca_events: s.non_ca_events,
            other_losses: s.other_losses,
            window_cuts: s.window_cuts,
            ecn_reductions: s.ecn_reductions,
            segments_acked: s.segments_acked,
            p: (s.segments_acked > 0).then(|| f64::from(s.ca_events) / s.segments_acked as f64),
            dsacks_received: Some(s.dsacks_received.into()),
            // Of Linux alone.
            reorderings: None,
            delivered_ce: None,
            busy_time: None,
            receiver_limited_time: None,
            buffer_limited_time: None,
            rtt_min: s.rtt_min.get(),
            rtt_mean: (s.rtt_samples > 0).then(|| s.rtt_sum / s.rtt_samples),
            rtt_max: (s.rtt_samples > 0).then_some(s.rtt_max),
            rtt_samples: s.rtt_samples,
            goodput: rate(delivered, span),
            challenge_acks: s.challenge_acks + other.challenge_acks,
            path_rtt: Some(self.path_rtt(slot, flow)),
        }
    }

    /// Payload that each stack's connections have delivered up to now, in what counts of the run
    /// ([`RunOptions::measured`](super::options::RunOptions::measured)).
    pub(crate) fn delivered_by_stack(&self) -> BTreeMap<Label, Bytes> {
        let active = (0..).zip(&self.flows).filter_map(|(slot, f)| Some((slot, f.as_ref()?)));
        let active = active.filter(|(_, f)| !f.ended && f.info.kind.stacks.is_some());
        let rows = active.map(|(slot, flow)| self.flow_row(slot, flow));
        let mut sums = BTreeMap::new();
        for (stack, bytes) in self.rows.iter().map(|r| (r.stack.clone(), r.bytes_delivered)) {
            *sums.entry(stack).or_default() += bytes;
        }
        for row in rows {
            *sums.entry(row.stack).or_default() += row.bytes_delivered;
        }
        sums
    }

    fn datagram_row(&self, slot: u32, flow: &Flow, number: u32) -> FlowRow {
        let info = &flow.info;
        let (from, counted) = flow.counted(self.options.measured, self.net.now);
        let waits = from.and_then(|_| self.net.waits_of(2 * slot));
        let [sent_bytes, delivered_bytes] = counted.datagram_bytes;
        FlowRow {
            run: self.options.run.clone(),
            stack: self.options.stack.clone(),
            flow: number,
            group: info.kind.group.clone(),
            protocol: "udp",
            client: self.net.routes.node_label(info.kind.client),
            server: self.net.routes.node_label(info.kind.server),
            sender: Side::Client,
            start: flow.start,
            segments_sent: counted.sent,
            data_segments_sent: counted.sent,
            bytes_sent: sent_bytes,
            bytes_delivered: delivered_bytes,
            dropped_packets: from.map(|_| self.net.dropped_of(2 * slot)),
            queue_delay_mean: waits.map(|[mean, _]| mean),
            queue_delay_max: waits.map(|[_, longest]| longest),
            measured_from: from,
            goodput: rate(delivered_bytes, from.map_or(Duration::ZERO, |from| self.net.now.since(from))),
            path_rtt: Some(self.path_rtt(slot, flow)),
            ..FlowRow::default()
        }
    }

    fn path_rtt(&self, slot: u32, flow: &Flow) -> Duration {
        let ways = self.net.routes.delay_between(flow.info.kind.client, flow.info.kind.server)
            + self.net.routes.delay_between(flow.info.kind.server, flow.info.kind.client);
        ways + self.net.access(2 * slot) + self.net.access(2 * slot + 1)
    }
}

fn rate(bytes: Bytes, span: Duration) -> Option<Rate> {
    let ns = u128::from(span.as_nanos());
    (ns > 0).then(|| Rate::from_bits_per_sec((u128::from(bytes) * 8_000_000_000 / ns) as u64))
}
