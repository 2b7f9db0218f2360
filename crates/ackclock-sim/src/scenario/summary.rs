use std::collections::{BTreeMap, BTreeSet};

use ackclock_trace::{ExchangeRow, FlowRow, Label, LinkRow, Outcome, Side};
use ackclock_units::{Bytes, Duration, Instant, Rate};

use super::build;
use super::resolved::Resolved;
use super::results::{Results, RunInfo};
use super::workload::Body;
use crate::network::{LinkId, Network, NodeId};
use crate::sim::MeasuredSpan;

/// Summary of one stack in one run. Every number covers the same window, from [`Resolved::warmup`] to the end
/// of `duration`.
///
/// Counters (timeouts, segments, packets, bytes) count what happened in the window, also in flows that
/// started earlier. Flows, response times and sizes are those of flows that started in the window, followed
/// to their end through `drain`, and of flows without a size limit, whenever they started: their responses
/// are those that ended in the window. Response times are those of flows that finished, or the means over the
/// responses of a flow that does not end (telnet); of flows that make many requests, each response counts.
///
/// With `measure_after` each flow has a window of its own, so that links and flows have no common window. The
/// numbers of links are missing then.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Summary {
    /// Label of the run in the tables.
    pub run: String,
    /// Label of the stack.
    pub stack: String,
    /// Seed.
    pub seed: u64,
    /// Flows begun.
    pub flows_started: u64,
    /// Flows finished in order.
    pub flows_finished: u64,
    /// Flows that failed.
    pub flows_failed: u64,
    /// Flows still active when the run ended.
    pub flows_unfinished: u64,
    /// Mean response time.
    pub response_mean: Option<Duration>,
    /// Median response time.
    pub response_median: Option<Duration>,
    /// 90th percentile of response times.
    pub response_p90: Option<Duration>,
    /// 99th percentile of response times.
    pub response_p99: Option<Duration>,
    /// Longest response time.
    pub response_max: Option<Duration>,
    /// The link to which the next four fields refer.
    pub bottleneck: String,
    /// Packets dropped there over packets offered.
    pub loss: Option<f64>,
    /// Unique payload through it per time (B-U2). In a mix, the payload delivered to this stack's receivers
    /// instead.
    pub goodput: Option<Rate>,
    /// Share of the time in which it was sending.
    pub utilisation: Option<f64>,
    /// Timeouts of the data sender, SYN-ACKs included.
    pub timeouts: u64,
    /// Timeouts by backoff round.
    pub timeouts_by_round: [u64; 8],
    /// Spurious timeouts: the latest copy of the segment was not dropped.
    pub spurious_timeouts: u64,
    /// Segments with payload retransmitted.
    pub retransmitted_segments: u64,
    /// Spurious retransmissions: the original had arrived or was on its way (B-A4).
    pub unneeded_retransmissions: u64,
    /// Segments with payload sent.
    pub data_segments_sent: u64,
    /// Payload delivered to its receivers in the time that counts, which ends with `duration`.
    pub delivered: Bytes,
    /// Mean of the sizes drawn; missing without flows of a limited size.
    pub mean_size: Option<f64>,
    /// The realised load (payload only): sizes of the flows sent through the bottleneck, over time and its
    /// rate.
    pub load: Option<f64>,
}

impl Results {
    /// One summary for each run and stack.
    pub fn summaries(&self, scenario: &Resolved) -> Vec<Summary> {
        Summary::of(self, scenario)
    }
}

impl Summary {
    pub(super) fn of(results: &Results, scenario: &Resolved) -> Vec<Self> {
        let mut out = Vec::new();
        for (job, info) in scenario.jobs().into_iter().zip(&results.runs) {
            let plan = &scenario.runs[job.run];
            let name = scenario.label(job);
            let rows: Vec<_> = results.flows.iter().filter(|f| &*f.run == name.as_str()).collect();
            let stacks: Vec<usize> =
                plan.shares.iter().map(|(i, _)| *i).chain(plan.named.iter().copied()).collect();
            for stack in &stacks {
                let label = &scenario.stacks[*stack].label;
                let exchanges: Vec<_> =
                    results.exchanges.iter().filter(|e| *e.run == *name && *e.stack == **label).collect();
                let own: Vec<_> = rows.iter().copied().filter(|f| &*f.stack == label.as_str()).collect();
                let mut s =
                    Self { run: name.clone(), stack: label.clone(), seed: job.seed, ..Self::default() };
                s.count(&own, &exchanges, scenario);
                s.link(&own, scenario, info, stacks.len() > 1);
                out.push(s);
            }
        }
        out
    }

    fn count(&mut self, rows: &[&FlowRow], exchanges: &[&ExchangeRow], scenario: &Resolved) {
        let warm = Instant::ZERO + scenario.warmup();
        let mut times: Vec<_> = exchanges.iter().map(|e| e.response_time).collect();
        let with_exchanges: BTreeSet<u32> = exchanges.iter().map(|e| e.flow).collect();
        for f in rows.iter().filter(|f| f.protocol == "tcp") {
            self.timeouts += u64::from(f.timeouts);
            self.timeouts_by_round
                .iter_mut()
                .zip(f.timeouts_by_round)
                .for_each(|(sum, n)| *sum += u64::from(n));
            self.spurious_timeouts += u64::from(f.spurious_timeouts);
            self.retransmitted_segments += f.retransmitted_segments;
            self.unneeded_retransmissions += f.unneeded_retransmissions;
            self.data_segments_sent += f.data_segments_sent;
            if f.start < warm && f.size.is_some() {
                continue;
            }
            self.flows_started += 1;
            match f.outcome {
                Outcome::Finished => self.flows_finished += 1,
                Outcome::Failed => self.flows_failed += 1,
                Outcome::Unfinished => self.flows_unfinished += 1,
            }
            if with_exchanges.contains(&f.flow) {
                continue;
            }
            if f.outcome == Outcome::Finished || (f.size.is_none() && f.responses > 0) {
                times.extend(f.response_time);
            }
        }
        times.sort_unstable();
        self.response_mean = mean(&times);
        self.response_median = quantile(&times, 0.5);
        self.response_p90 = quantile(&times, 0.9);
        self.response_p99 = quantile(&times, 0.99);
        self.response_max = times.last().copied();
    }

    fn link(&mut self, rows: &[&FlowRow], scenario: &Resolved, info: &RunInfo, mixed: bool) {
        let Some((before, after)) = bottleneck(scenario, info) else { return };
        let span = after.observed.saturating_sub(before.observed);
        let seconds = span.as_secs_f64();
        self.bottleneck = after.name.to_string();
        let warm = Instant::ZERO + scenario.warmup();
        let sizes: Vec<_> = rows
            .iter()
            .filter(|f| f.start >= warm)
            .filter_map(|f| f.size.map(|size| (*f, size as f64)))
            .collect();
        let sum = |sizes: &[(&FlowRow, f64)]| sizes.iter().map(|(_, size)| size).sum::<f64>();
        self.mean_size = (!sizes.is_empty()).then(|| sum(&sizes) / sizes.len() as f64);
        if matches!(scenario.measured(), MeasuredSpan::AfterEpisodes(_)) {
            return;
        }
        self.delivered = info.delivered_end.get(self.stack.as_str()).copied().unwrap_or(0);
        let offered = after.packets_offered - before.packets_offered;
        let dropped = after.dropped_queue + after.dropped_wire - before.dropped_queue - before.dropped_wire;
        self.loss = (offered > 0).then(|| dropped as f64 / offered as f64);
        self.utilisation = busy(before, after);
        let delivered = || self.delivered as f64 / seconds;
        let unique = after.unique_bytes.zip(before.unique_bytes).map(|(a, b)| (a - b) as f64 / seconds);
        let bytes_per_second = if mixed { delivered() } else { unique.unwrap_or_else(delivered) };
        self.goodput = Some(Rate::from_bits_per_sec((bytes_per_second * 8.0) as u64));
        let random = scenario.workloads.iter().any(|w| matches!(w.body, Body::Web(_) | Body::Log(_)));
        let Some(rate) = after.rate.filter(|_| random && seconds > 0.0) else { return };
        let mut users = Users::of(scenario, after.link);
        let through: Vec<_> = sizes.into_iter().filter(|(f, _)| users.contains(f)).collect();
        self.load = Some(sum(&through) * 8.0 / seconds / rate.bits_per_sec() as f64);
    }
}

/// Looks up whether flows send their data through a link.
struct Users<'a> {
    link: LinkId,
    /// `None` counts every flow; cannot happen, since building it succeeded when the scenario ran.
    network: Option<Network>,
    nodes: BTreeMap<&'a str, NodeId>,
    known: BTreeMap<(Label, Label), bool>,
}

impl<'a> Users<'a> {
    fn of(scenario: &'a Resolved, link: u32) -> Self {
        Self {
            link: LinkId(link),
            network: build::network(scenario, true).ok(),
            nodes: build::node_ids(scenario),
            known: BTreeMap::new(),
        }
    }

    fn contains(&mut self, f: &FlowRow) -> bool {
        let (from, to) =
            if f.sender == Side::Client { (&f.client, &f.server) } else { (&f.server, &f.client) };
        let (Some(network), Some(a), Some(b)) =
            (&self.network, self.nodes.get(&**from), self.nodes.get(&**to))
        else {
            return true;
        };
        let link = self.link;
        *self
            .known
            .entry((from.clone(), to.clone()))
            .or_insert_with(|| network.path(*a, *b).is_ok_and(|path| path.contains(&link)))
    }
}

/// The bottleneck at the end of the warm-up and of `duration`: the first link of a single path or dumbbell,
/// otherwise the busiest link.
fn bottleneck<'a>(scenario: &Resolved, info: &'a RunInfo) -> Option<(&'a LinkRow, &'a LinkRow)> {
    let mut pairs = info.links_warm.iter().zip(&info.links_end);
    if matches!(scenario.path.kind, "single" | "dumbbell") {
        return pairs.next();
    }
    let load = |(before, after): &(&LinkRow, &LinkRow)| busy(before, after).unwrap_or(-1.0);
    // Of equally busy links, the first.
    pairs.reduce(|best, next| if load(&next) > load(&best) { next } else { best })
}

fn busy(before: &LinkRow, after: &LinkRow) -> Option<f64> {
    let span = after.observed.saturating_sub(before.observed).as_secs_f64();
    let busy = |l: &LinkRow| l.utilisation.map(|u| u * l.observed.as_secs_f64());
    let (after, before) = (busy(after)?, busy(before)?);
    (span > 0.0).then(|| (after - before) / span)
}

fn mean(sorted: &[Duration]) -> Option<Duration> {
    let sum: u128 = sorted.iter().map(|d| u128::from(d.as_nanos())).sum();
    (!sorted.is_empty()).then(|| Duration::from_nanos((sum / sorted.len() as u128) as u64))
}

/// The smallest value that at least a share `q` of the values do not exceed.
fn quantile(sorted: &[Duration], q: f64) -> Option<Duration> {
    let n = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(n.max(1) - 1).copied()
}
