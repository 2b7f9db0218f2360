//! A scenario with every default made explicit.

use std::fmt::Write as _;

use ackclock_policy::Params;
use ackclock_trace::Mask;
use ackclock_units::{Duration, Instant};

use super::path::PathPlan;
use super::stack::StackPlan;
use super::text;
use super::workload::WorkloadPlan;
use super::write;
use crate::sim::MeasuredSpan;

/// Names of the groups of events that can be traced.
pub(super) const TRACES: &[(&str, Mask)] = &[
    ("packets", Mask::PACKETS),
    ("samples", Mask::SAMPLES),
    ("episodes", Mask::EPISODES),
    ("state", Mask::STATE),
    ("all", Mask::ALL),
    ("none", Mask::NONE),
];

/// A scenario with all defaults filled in.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolved {
    /// Title in reports.
    pub title: String,
    /// `duration`, `warmup`, `measure_from`, `measure_after`, `drain`, `series`.
    pub params: Params,
    /// Each run is simulated once with each of these.
    pub seeds: Vec<u64>,
    /// Groups of traced events.
    pub trace: Mask,
    /// Nodes and links.
    pub path: PathPlan,
    /// Flows and datagrams that run over them.
    pub workloads: Vec<WorkloadPlan>,
    /// The stacks under comparison.
    pub stacks: Vec<StackPlan>,
    /// Which stacks run together.
    pub runs: Vec<RunPlan>,
    /// Estimates for each run.
    pub expected: Expected,
}

/// Stacks that share one run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunPlan {
    /// Its label in results.
    pub label: String,
    /// Positions in [`Resolved::stacks`], each with its share of the flows whose workload names no stack.
    pub shares: Vec<(usize, f64)>,
    /// Positions of the stacks that workloads name and that have no share.
    pub named: Vec<usize>,
}

/// One simulation of a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Job {
    /// Position in [`Resolved::runs`].
    pub run: usize,
    /// Its seed.
    pub seed: u64,
}

impl Resolved {
    /// A run's label in the tables, with the seed when there are several.
    pub fn label(&self, job: Job) -> String {
        let label = &self.runs[job.run].label;
        if self.seeds.len() > 1 { format!("{label} #{}", job.seed) } else { label.clone() }
    }

    /// Time over which flows start and are observed.
    pub fn duration(&self) -> Duration {
        self.params.duration("duration")
    }

    /// Start of the window covered by tables and summaries: the later of `warmup` and `measure_from`.
    pub fn warmup(&self) -> Duration {
        self.params.duration("warmup").max(self.params.duration("measure_from"))
    }

    /// Which part of a run is counted.
    pub fn measured(&self) -> MeasuredSpan {
        match (self.warmup(), self.params.count("measure_after")) {
            (Duration::ZERO, 0) => MeasuredSpan::Whole,
            (Duration::ZERO, n) => MeasuredSpan::AfterEpisodes(n as u32),
            (from, _) => MeasuredSpan::From(Instant::ZERO + from),
        }
    }

    /// Time after [`Resolved::duration`] in which active flows may finish.
    pub fn drain(&self) -> Duration {
        self.params.duration("drain")
    }

    /// The interval of the tables over time; `None` without them.
    pub fn series(&self) -> Option<Duration> {
        Some(self.params.duration("series")).filter(|interval| !interval.is_zero())
    }

    /// Number of simulations.
    pub fn job_count(&self) -> usize {
        self.runs.len() * self.seeds.len()
    }

    /// All simulations, in the order of their results.
    pub fn jobs(&self) -> Vec<Job> {
        let seeds = |run| self.seeds.iter().map(move |seed| Job { run, seed: *seed });
        (0..self.runs.len()).flat_map(seeds).collect()
    }

    /// As TOML text, which resolves to an equal scenario.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        if !self.title.is_empty() {
            let _ = writeln!(out, "title = {}", text::quoted(&self.title));
        }
        let seeds: Vec<_> = self.seeds.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "seeds = [{}]", seeds.join(", "));
        for (name, v) in self.params.iter() {
            let _ = writeln!(out, "{name} = {}", text::value(v));
        }
        let groups = TRACES.iter().filter(|(_, mask)| mask.0.is_power_of_two() && self.trace.any(*mask));
        let names = groups.map(|(name, _)| text::quoted(name));
        let _ = writeln!(out, "trace = [{}]", names.collect::<Vec<_>>().join(", "));
        for run in self.runs.iter().filter(|r| r.label == "mix") {
            let shares = run
                .shares
                .iter()
                .map(|(i, share)| format!("{} = {share}", text::key(&self.stacks[*i].label)));
            let _ = writeln!(out, "mix = {{ {} }}", shares.collect::<Vec<_>>().join(", "));
        }
        out.push('\n');
        write::path(&mut out, &self.path);
        self.workloads.iter().for_each(|w| write::workload(&mut out, w, &self.stacks));
        self.stacks.iter().for_each(|s| s.write(&mut out));
        out
    }
}

/// Rough estimates for one run of a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected {
    /// Flows that start.
    pub flows: f64,
    /// Largest number of flows active at once.
    pub at_once: f64,
    /// Segments with payload and datagrams sent.
    pub packets: f64,
}

/// Always equal: the estimates are derived from the rest of a scenario.
impl PartialEq for Expected {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
