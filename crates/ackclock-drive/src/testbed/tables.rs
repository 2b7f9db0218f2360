//! The tables of a run, from what both sides report.

use std::collections::BTreeMap;

use ackclock_sim::scenario::Resolved;
use ackclock_sim::{MeasuredSpan, RunOutcome, Taken as Exchanges};
use ackclock_trace::{Label, Side};
use ackclock_units::{Bytes, Duration, Instant};

use super::datagrams::{self, Sample as DatagramSample};
use super::events::{EndEvents, Judged, Numbers, judge};
use super::flow_rows::{Ends, FlowFacts};
use super::flow_series::Samples;
use super::links::Rows as LinkRows;
use super::setup::Setup;
use super::{EndReport, KernelCounters};
use crate::DriveError;
use crate::flows::SideReport;

/// A run that is over.
pub(super) struct Finished<'a> {
    pub(super) scenario: &'a Resolved,
    pub(super) label: Label,
    pub(super) setup: &'a Setup,
    /// The clients' side and the servers'.
    pub(super) sides: [&'a SideReport; 2],
    /// What was seen of the sources of datagrams.
    pub(super) datagram_samples: &'a [DatagramSample],
    /// Links, and what packets have met on them.
    pub(super) links: &'a LinkRows,
    /// What each end has gone through, by the number of its stream, and when that was recorded as a whole.
    pub(super) events: &'a [EndEvents],
    pub(super) are_known: bool,
    /// What the kernels have counted, by host.
    pub(super) counters: &'a [KernelCounters],
    /// The interval of samples.
    pub(super) every: Duration,
    pub(super) ended_at: Instant,
}

impl Finished<'_> {
    fn ends(&self) -> Ends<'_> {
        let later = !self.scenario.warmup().is_zero();
        Ends {
            sides: self.sides,
            measured: self.scenario.measured(),
            warm: later.then_some(0),
            end: usize::from(later),
            last: self.ended_at,
        }
    }

    /// The numbers of each end that events tell, by the number of its stream, and why some are missing.
    pub(super) fn judged(&self) -> (Vec<Numbers>, Vec<String>) {
        let (ends, mut numbers) = (self.ends(), vec![Numbers::default(); self.events.len()]);
        if !self.are_known {
            return (numbers, Vec::new());
        }
        let opened = (0..self.setup.flows.len()).filter(|n| ends.opened(*n).is_some());
        let streams: Vec<usize> = opened.flat_map(|n| [2 * n, 2 * n + 1]).collect();
        let judged = streams.iter().map(|stream| {
            let (n, side) = (stream / 2, stream % 2);
            let end = ends.flow_end(side, n);
            Judged {
                events: &self.events[*stream],
                host: self.setup.host(n, side),
                is_server: side == 1,
                counts: end.counts,
                read_at: end.counted_at.map_or(self.ended_at, |at| Instant::ZERO + at),
                from: ends.counts_from(n),
                is_whole: ends.is_whole(side, n),
            }
        });
        let counter = |host: usize, name: &str| {
            let all = &self.counters[host].counters;
            all.iter().find(|(known, _)| known == name).map_or(0, |(_, value)| *value)
        };
        let judged: Vec<_> = judged.collect();
        let (found, why) = judge(&judged, counter, |host| self.setup.hosts.name(self.scenario, host));
        for (stream, one) in streams.into_iter().zip(found) {
            numbers[stream] = one;
        }
        (numbers, why)
    }

    /// All tables but those of links, and the cells of that of flows that are unknown.
    pub(super) fn tables(&self, numbers: &[Numbers]) -> (RunOutcome, Vec<(usize, &'static str)>) {
        let (ends, samples, flows) = (self.ends(), Samples::of(self.sides), &self.setup.flows);
        let from = match self.scenario.measured() {
            MeasuredSpan::From(from) => from,
            _ => Instant::ZERO,
        };
        let rtts = samples.rtt_means(flows.len(), self.every, from);
        let (mut rows, mut exchanges, mut unknown) = (Vec::new(), Exchanges::default(), Vec::new());
        for (number, flow) in flows.iter().enumerate() {
            let (path_rtt, rtt_mean) = (self.setup.path_rtts[number], rtts[number]);
            let met = [0, 1].map(|end| self.met(number, end));
            let (events, numbers) = (
                [0, 1].map(|end| &self.events[2 * number + end]),
                [0, 1].map(|end| numbers[2 * number + end]),
            );
            let facts = FlowFacts { number, flow, path_rtt, rtt_mean, met, events, numbers };
            let Some(row) = ends.row(self.scenario, &self.label, &facts) else { continue };
            unknown.extend(numbers[ends.sender(number)].unknown().map(|column| (rows.len(), column)));
            rows.push(row);
            ends.take_exchanges(&facts, &mut exchanges);
        }
        let rounds = |source: u32| self.sides[0].rounds.get(source as usize).copied().unwrap_or_default();
        let (exchanges, rounds, playbacks) = exchanges.tables(&rows, self.scenario.measured(), rounds);
        let (first, sources) = (rows.len() as u32, &self.setup.sources);
        let flow_series = self.scenario.series().map(|every| {
            let mut all = samples.rows(self.scenario, (&self.label, every), flows, |n| ends.sender(n));
            all.extend(datagrams::series(sources, self.datagram_samples, (&self.label, every, first)));
            all.sort_by_key(|row| (row.time, row.flow));
            all
        });
        for (number, source) in (first..).zip(sources) {
            let window = (self.scenario.measured(), self.ended_at);
            let met = self.met(flows.len() + (number - first) as usize, 0);
            rows.push(source.row(self.scenario, (&self.label, number), window, met));
        }
        let outcome = RunOutcome {
            flows: rows,
            flow_series: flow_series.unwrap_or_default(),
            exchanges,
            rounds,
            playbacks,
            ..RunOutcome::default()
        };
        (outcome, unknown)
    }

    /// What is known of both ends of all connections that were opened.
    pub(super) fn end_reports(&self, numbers: &[Numbers]) -> Vec<EndReport> {
        let ends = self.ends();
        let opened = (0..self.setup.flows.len()).filter(|n| ends.opened(*n).is_some());
        let one = |stream: usize| {
            let (flow, side) = Side::of_connection(stream as u32);
            let [timeouts, recoveries, repeated_probes] = numbers[stream].whole;
            EndReport {
                flow,
                side,
                host: self.setup.host(stream / 2, stream % 2),
                stack: self.scenario.stacks[self.setup.flows[stream / 2].stacks[stream % 2]]
                    .label
                    .as_str()
                    .into(),
                timeouts,
                recoveries,
                repeated_probes,
                retransmissions: self.events[stream].repeated(),
            }
        };
        opened.flat_map(|n| [2 * n, 2 * n + 1]).map(one).collect()
    }

    /// Payload of a full segment of a stream.
    pub(super) fn mss(&self, stream: u32) -> Bytes {
        let counts = self.ends().flow_end(stream as usize % 2, stream as usize / 2).counts;
        counts.map_or(0, |counts| counts.mss)
    }

    /// What the packets of one end of a flow or source have met.
    fn met(&self, number: usize, end: usize) -> (u64, Option<[Duration; 2]>) {
        self.links.met(2 * number + end, self.setup.hops(number, end))
    }

    /// Payload that the connections of each stack had delivered at the end of `duration`, from the moment that
    /// counts on.
    pub(super) fn delivered_end(&self) -> BTreeMap<Label, Bytes> {
        let ends = self.ends();
        let mut sums: BTreeMap<Label, Bytes> = BTreeMap::new();
        for (n, flow) in self.setup.flows.iter().enumerate().filter(|(n, _)| ends.opened(*n).is_some()) {
            let sender = ends.sender(n);
            let stack = self.scenario.stacks[flow.stacks[sender]].label.as_str().into();
            *sums.entry(stack).or_default() += ends.delivered_in_duration(sender, n);
        }
        sums
    }

    /// Fails when an application has read a byte that was not sent there.
    pub(super) fn check_bytes(&self) -> Result<(), DriveError> {
        for (side, word) in self.sides.into_iter().zip(["client", "server"]) {
            if let Some((n, at)) = side.ends.iter().enumerate().find_map(|(n, end)| Some((n, end.wrong?))) {
                return Err(DriveError::Failed(format!(
                    "run `{}`: the {word} of flow {n} read another byte at position {at} than was sent there",
                    self.label
                )));
            }
        }
        Ok(())
    }
}
