//! Flows over time, and their mean round-trip times, from samples of the kernels' TCP_INFO.

use std::collections::BTreeMap;

use ackclock_sim::rate_over;
use ackclock_sim::scenario::{RealFlow, Resolved};
use ackclock_trace::{FlowSeriesRow, Label, Side};
use ackclock_units::{Bytes, Count, Duration, Instant};

use crate::flows::{Sample, SideReport};

/// Samples of both sides, by moment and connection.
pub(super) struct Samples<'a>(BTreeMap<(u64, usize), [Option<&'a Sample>; 2]>);

impl<'a> Samples<'a> {
    pub(super) fn of(sides: [&'a SideReport; 2]) -> Self {
        let mut all: BTreeMap<_, [Option<&Sample>; 2]> = BTreeMap::new();
        for (side, report) in sides.into_iter().enumerate() {
            for sample in &report.taken.samples {
                all.entry((sample.moment, sample.number)).or_default()[side] = Some(sample);
            }
        }
        Self(all)
    }

    /// For each of `n` connections, the mean of the smoothed round-trip times that were seen of each end while it
    /// had data in flight, from `from` on.
    pub(super) fn rtt_means(&self, n: usize, every: Duration, from: Instant) -> Vec<[Option<Duration>; 2]> {
        let mut sums = vec![[(Duration::ZERO, 0_u64); 2]; n];
        for ((moment, number), both) in &self.0 {
            if Instant::ZERO + every * *moment < from {
                continue;
            }
            for (side, sample) in both.iter().enumerate() {
                let Some(sample) = sample.filter(|s| s.state.pipe > 0) else { continue };
                if let Some(rtt) = sample.state.srtt {
                    let (sum, count) = &mut sums[*number][side];
                    (*sum, *count) = (*sum + rtt, *count + 1);
                }
            }
        }
        sums.into_iter().map(|both| both.map(|(sum, count)| (count > 0).then(|| sum / count))).collect()
    }

    /// The rows, one for each connection and moment at which it was open. The time after the last moment has
    /// none.
    pub(super) fn rows(
        &self,
        scenario: &Resolved,
        (run, every): (&Label, Duration),
        flows: &[RealFlow],
        sender: impl Fn(usize) -> usize,
    ) -> Vec<FlowSeriesRow> {
        let mut before: BTreeMap<usize, [Option<Sample>; 2]> = BTreeMap::new();
        let mut rows = Vec::new();
        for ((moment, number), both) in &self.0 {
            let (flow, side) = (&flows[*number], sender(*number));
            let last = before.entry(*number).or_default();
            let own = both[side];
            // Since the last moment.
            let counted = |value: fn(&Sample) -> Bytes, side: usize| {
                let (now, then) = (both[side].map_or(0, value), last[side].as_ref().map_or(0, value));
                now.saturating_sub(then)
            };
            let sent = own.map(|now| last[side].map_or(now.counts, |then| now.counts.since(&then.counts)));
            let delivered = counted(|s| s.read, 1 - side);
            let arrived = counted(|s| s.counts.bytes_received, 1 - side);
            rows.push(FlowSeriesRow {
                run: run.clone(),
                stack: scenario.stacks[flow.stacks[side]].label.as_str().into(),
                time: Instant::ZERO + every * *moment,
                interval: every,
                flow: *number as u32,
                group: flow.group.clone(),
                protocol: "tcp",
                sender: if side == 0 { Side::Client } else { Side::Server },
                cwnd: own.map(|s| s.state.cwnd),
                ssthresh: own.and_then(|s| s.state.ssthresh),
                pipe: own.map(|s| s.state.pipe),
                srtt: own.and_then(|s| s.state.srtt),
                rttvar: own.and_then(|s| s.state.rttvar),
                rto: own.map(|s| s.state.rto),
                pacing_rate: own.and_then(|s| s.state.pacing_rate),
                bytes_sent: sent.map_or(0, |c| c.bytes_sent),
                retransmitted_bytes: sent.map_or(0, |c| c.retransmitted_bytes),
                bytes_delivered: delivered,
                bytes_arrived: arrived,
                goodput: rate_over(delivered, every),
                throughput: rate_over(arrived, every),
                ..FlowSeriesRow::default()
            });
            for (kept, sample) in last.iter_mut().zip(both) {
                *kept = sample.copied().or(*kept);
            }
        }
        rows
    }
}
