use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ackclock_sim::scenario::Resolved;
use ackclock_sim::{MeasuredSpan, rate_over};
use ackclock_trace::{FlowRow, FlowSeriesRow, Label, Side};
use ackclock_units::{Bytes, Duration, Instant};

use super::super::flow_rows::rate;
use super::{Counts, Sample};

/// What is known of a source. Datagrams have no stack, in any world.
pub(in crate::testbed) struct SourceFacts {
    pub(super) group: Arc<str>,
    pub(super) nodes: [usize; 2],
    pub(super) path_rtt: Duration,
    pub(super) counts: Arc<Counts>,
}

impl SourceFacts {
    /// Its row in the table of flows.
    pub(in crate::testbed) fn row(
        &self,
        scenario: &Resolved,
        (run, number): (&Label, u32),
        (measured, last): (MeasuredSpan, Instant),
        (dropped, waits): (u64, Option<[Duration; 2]>),
    ) -> FlowRow {
        let from = match measured {
            MeasuredSpan::From(from) => from,
            _ => Instant::ZERO,
        };
        let value = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (sent, delivered): (u64, Bytes) =
            (value(&self.counts.sent.counted_packets), value(&self.counts.received.counted_bytes));
        let node = |i: usize| Label::from(scenario.path.nodes[self.nodes[i]].as_str());
        FlowRow {
            run: run.clone(),
            flow: number,
            group: self.group.clone(),
            protocol: "udp",
            client: node(0),
            server: node(1),
            sender: Side::Client,
            segments_sent: sent,
            data_segments_sent: sent,
            bytes_sent: value(&self.counts.sent.counted_bytes),
            bytes_delivered: delivered,
            dropped_packets: Some(dropped),
            queue_delay_mean: waits.map(|[mean, _]| mean),
            queue_delay_max: waits.map(|[_, longest]| longest),
            measured_from: Some(from),
            goodput: rate(delivered, last.since(from)),
            path_rtt: Some(self.path_rtt),
            ..FlowRow::default()
        }
    }
}

/// The rows of sources over time. The first source has the number `first`.
pub(in crate::testbed) fn series(
    facts: &[SourceFacts],
    samples: &[Sample],
    (run, every, first): (&Label, Duration, u32),
) -> Vec<FlowSeriesRow> {
    let mut before = vec![(0, 0); facts.len()];
    let row = |sample: &Sample| {
        let (sent, received) = std::mem::replace(&mut before[sample.source], (sample.sent, sample.received));
        let delivered = sample.received - received;
        FlowSeriesRow {
            run: run.clone(),
            time: Instant::ZERO + every * sample.moment,
            interval: every,
            flow: first + sample.source as u32,
            group: facts[sample.source].group.clone(),
            protocol: "udp",
            sender: Side::Client,
            bytes_sent: sample.sent - sent,
            bytes_delivered: delivered,
            bytes_arrived: delivered,
            goodput: rate_over(delivered, every),
            throughput: rate_over(delivered, every),
            ..FlowSeriesRow::default()
        }
    };
    samples.iter().map(row).collect()
}
