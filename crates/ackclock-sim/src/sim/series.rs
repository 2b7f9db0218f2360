//! Flows and links over time: a row for each of them at regular moments.
//!
//! The run loop stops at these moments; nothing is done for them per packet, but for the sojourn times in
//! queues.

use ackclock_engine::Connection;
use ackclock_trace::{FlowSeriesRow, LinkSeriesRow, Side};
use ackclock_units::{Bytes, Count, Duration, Instant, since};

use super::state::{FIRST_DATAGRAM, Simulation};
use crate::endpoint::Flow;
use crate::link::{LinkCounters, rate_over};

/// The rows so far, and the counters at the last moment.
#[derive(Debug)]
pub(super) struct Series {
    interval: Duration,
    /// The last moment, and the next one.
    last: Instant,
    next: Instant,
    flows: Vec<FlowSeriesRow>,
    links: Vec<LinkSeriesRow>,
    /// Rows of flows that have ended since the last moment.
    ended: Vec<FlowSeriesRow>,
    /// By slot, while its flow is active.
    flows_before: Vec<Option<[SideCounts; 2]>>,
    links_before: Vec<LinkCounters>,
}

/// Counters of one end of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct SideCounts {
    sent: Bytes,
    retransmitted: Bytes,
    /// Payload delivered to this end's application.
    delivered: Bytes,
    /// Payload that has arrived at this end, in order or not.
    arrived: Bytes,
    rtt_samples: u64,
    rtt_sum: Duration,
}

impl Count for SideCounts {
    fn since(&self, before: &Self) -> Self {
        since!(Self { self, before }
            counted { sent, retransmitted, delivered, arrived, rtt_samples, rtt_sum }
            kept {}
            set {}
        )
    }
}

impl Series {
    pub(super) fn new(interval: Duration, links: usize) -> Self {
        Self {
            interval,
            last: Instant::ZERO,
            next: Instant::ZERO + interval,
            flows: Vec::new(),
            links: Vec::new(),
            ended: Vec::new(),
            flows_before: Vec::new(),
            links_before: vec![LinkCounters::default(); links],
        }
    }

    /// The rows. Sources of datagrams are numbered after the `flows` flows, as in the table of flows.
    pub(super) fn rows(mut self, flows: u32) -> (Vec<FlowSeriesRow>, Vec<LinkSeriesRow>) {
        for row in self.flows.iter_mut().filter(|row| row.flow >= FIRST_DATAGRAM) {
            row.flow = row.flow - FIRST_DATAGRAM + flows;
        }
        (self.flows, self.links)
    }

    /// Memory of the rows, bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        let flows = (self.flows.capacity() + self.ended.capacity()) * size_of::<FlowSeriesRow>();
        let links = self.links.capacity() * size_of::<LinkSeriesRow>();
        let before = self.flows_before.capacity() * size_of::<Option<[SideCounts; 2]>>();
        (flows + links + before) as u64
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.flows.len() + self.links.len() + self.ended.len()
    }
}

impl Simulation {
    /// The next moment at which rows are added; `None` in a run without series.
    #[inline]
    pub(super) fn series_due(&self) -> Option<Instant> {
        self.series.as_ref().map(|s| s.next)
    }

    /// Adds the rows of the present moment.
    pub(super) fn add_series_rows(&mut self) {
        let Some(mut series) = self.series.take() else { return };
        let now = self.net.now;
        let from = series.flows.len();
        series.flows.append(&mut series.ended);
        for (slot, flow) in self.flows.iter().enumerate() {
            if let Some(flow) = flow.as_ref().filter(|f| !f.ended) {
                let row = self.flow_series_row(&mut series, slot, flow);
                series.flows.push(row);
            }
        }
        let interval = now.since(series.last);
        for row in &mut series.flows[from..] {
            (row.time, row.interval) = (now, interval);
            row.goodput = rate_over(row.bytes_delivered, interval);
            row.throughput = rate_over(row.bytes_arrived, interval);
        }
        // The order of slots depends on which flows have ended.
        series.flows[from..].sort_unstable_by_key(|row| row.flow);
        for i in 0..self.net.links.len() {
            let labels = self.link_labels(i);
            let before = &mut series.links_before[i];
            series.links.push(self.net.links[i].link.series_row(now, labels, interval, before));
        }
        (series.last, series.next) = (now, now + series.interval);
        self.series = Some(series);
    }

    /// Adds the rows of the time since the last moment, at the end of the run.
    pub(super) fn finish_series(&mut self) {
        if self.series.as_ref().is_some_and(|s| s.last < self.net.now) {
            self.add_series_rows();
        }
    }

    /// Keeps the row of a flow that ends now, whose connections still exist.
    #[inline]
    pub(super) fn note_end_in_series(&mut self, slot: u32) {
        let Some(mut series) = self.series.take() else { return };
        if let Some(flow) = &self.flows[slot as usize] {
            let row = self.flow_series_row(&mut series, slot as usize, flow);
            series.ended.push(row);
            series.flows_before[slot as usize] = None;
        }
        self.series = Some(series);
    }

    /// The row of a flow since its last one, without time, interval and rate.
    fn flow_series_row(&self, series: &mut Series, slot: usize, flow: &Flow) -> FlowSeriesRow {
        let counts = flow.side_counts();
        if series.flows_before.len() <= slot {
            series.flows_before.resize(slot + 1, None);
        }
        let before = series.flows_before[slot].replace(counts).unwrap_or_default();
        // As in the table of flows.
        let side = match &flow.info.kind.stacks {
            Some(_) => usize::from(flow.sent_by(1) >= flow.sent_by(0)),
            None => 0,
        };
        let (own, other) = (counts[side].since(&before[side]), counts[1 - side].since(&before[1 - side]));
        let connection = flow.ends[side].connection.as_ref();
        let view = connection.map(|c| c.view(self.net.now));
        let stack = match (&flow.info.kind.stacks, self.options.stack.is_empty()) {
            (Some(stacks), true) => stacks[side].label(),
            _ => self.options.stack.clone(),
        };
        FlowSeriesRow {
            run: self.options.run.clone(),
            stack,
            flow: if flow.info.kind.stacks.is_some() {
                flow.number
            } else {
                FIRST_DATAGRAM + flow.info.kind.source
            },
            group: flow.info.kind.group.clone(),
            protocol: if flow.info.kind.stacks.is_some() { "tcp" } else { "udp" },
            sender: if side == 0 { Side::Client } else { Side::Server },
            cwnd: view.as_ref().map(|v| v.window.cwnd),
            ssthresh: view.as_ref().map(|v| v.window.ssthresh).filter(|bytes| *bytes != Bytes::MAX),
            pipe: view.as_ref().map(|v| v.pipe),
            srtt: view.as_ref().and_then(|v| v.rtt).map(|rtt| rtt.srtt),
            rttvar: view.as_ref().and_then(|v| v.rtt).map(|rtt| rtt.rttvar),
            rto: connection.map(Connection::timeout),
            pacing_rate: connection.and_then(Connection::pacing_rate),
            rtt: (own.rtt_samples > 0).then(|| own.rtt_sum / own.rtt_samples),
            bytes_sent: own.sent,
            retransmitted_bytes: own.retransmitted,
            bytes_delivered: other.delivered,
            bytes_arrived: other.arrived,
            ..FlowSeriesRow::default()
        }
    }
}

impl Flow {
    fn side_counts(&self) -> [SideCounts; 2] {
        if self.info.kind.stacks.is_none() {
            let io = &self.ends[0].user.io;
            return [
                SideCounts { sent: io.written, ..SideCounts::default() },
                SideCounts { delivered: io.read, arrived: io.read, ..SideCounts::default() },
            ];
        }
        self.ends.each_ref().map(|end| {
            end.connection.as_ref().map_or(SideCounts::default(), |c| {
                let stats = c.stats();
                SideCounts {
                    sent: stats.bytes_sent,
                    retransmitted: stats.retransmitted_bytes,
                    delivered: stats.bytes_received,
                    arrived: end.arrived.bytes(),
                    rtt_samples: stats.rtt_samples,
                    rtt_sum: stats.rtt_sum,
                }
            })
        })
    }

    /// Bytes that one end has sent, and those that its application has written.
    fn sent_by(&self, side: usize) -> (Bytes, Bytes) {
        let end = &self.ends[side];
        (end.connection.as_ref().map_or(0, |c| c.stats().bytes_sent), end.user.io.written)
    }
}
