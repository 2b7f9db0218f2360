//! One simulation of a scenario, from set-up to its tables.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use ackclock_trace::{EventTables, Sink, TracedRows};
use ackclock_units::{Duration, Instant};

use super::build;
use super::error::{Result, ScenarioError};
use super::limits::{TracePart, TraceSink};
use super::resolved::{Job, Resolved};
use super::results::StreamedTrace;
use super::shared::{Done, JobSlot, SharedRuns};
use crate::SimError;
use crate::error::Size;
use crate::sim::{EVENTS_PER_SLICE, RunOptions, Simulation};

/// A run is simulated in this many slices.
const SLICES: u64 = 500;
/// A streamed trace is passed to the sink in parts of about this many events.
const PART: u64 = 100_000;

/// How a simulation ended.
pub(super) enum RunEnd {
    Done(Box<Done>),
    /// All runs were stopped.
    Stopped,
    /// It was aborted to free memory for the runs before it, and must start again.
    OutOfMemory,
}

/// A simulation in progress.
pub(super) struct ActiveRun<'a> {
    scenario: &'a Resolved,
    shared: &'a SharedRuns<'a>,
    slot: &'a JobSlot,
    sim: Simulation,
    trace: RunTrace<'a>,
    /// Its number among the runs.
    n: usize,
    /// Its name in errors.
    name: String,
}

impl<'a> ActiveRun<'a> {
    /// Sets up run number `n`.
    pub(super) fn begin(
        scenario: &'a Resolved,
        job: Job,
        (n, attempt): (usize, u32),
        shared: &'a SharedRuns<'a>,
        slot: &'a JobSlot,
    ) -> Result<Self> {
        let name = format!("run `{}` with seed {}", scenario.runs[job.run].label, job.seed);
        let network = build::network(scenario, false)?;
        let sources = build::sources(scenario, job, &network)?;
        let (label, limits) = (scenario.label(job), &shared.limits);
        let options = RunOptions {
            trace: scenario.trace,
            run: label.as_str().into(),
            measured: scenario.measured(),
            memory: limits.memory,
            series: scenario.series(),
            ..RunOptions::default()
        };
        let share = limits.traced_events / scenario.job_count() as u64;
        let trace = RunTrace {
            sink: shared.sink,
            share,
            most: limits.memory / 4,
            label,
            job: n,
            attempt,
            tables: None,
        };
        let sim = Simulation::new(network, sources, job.seed, options)
            .map_err(|e| ScenarioError::new(format!("{name}: {e}")))?;
        Ok(Self { scenario, shared, slot, sim, trace, n, name })
    }

    /// Runs it to its end.
    pub(super) fn run(mut self) -> Result<RunEnd> {
        let (end, last) = (self.scenario.duration(), self.scenario.duration() + self.scenario.drain());
        let slice = Duration::from_nanos((last.as_nanos() / SLICES).max(1));
        if let Some(early) = self.run_to(self.scenario.warmup(), slice)? {
            return Ok(early);
        }
        let links_warm = self.sim.links();
        if let Some(early) = self.run_to(end, slice)? {
            return Ok(early);
        }
        let links_end = self.sim.links();
        let delivered_end = self.sim.delivered_by_stack();
        // From here on no flow starts; active flows may finish.
        let mut now = end;
        while now < last && self.sim.progress().flows_ended < self.sim.progress().flows_started {
            now = (now + slice).min(last);
            if let Some(early) = self.run_to(now, slice)? {
                return Ok(early);
            }
        }
        let rest = if self.trace.tables.is_some() { self.sim.take_trace() } else { Vec::new() };
        let outcome = self.sim.finish().map_err(|e| ScenarioError::new(format!("{}: {e}", self.name)))?;
        let flows = outcome.flows.iter().take_while(|row| row.protocol == "tcp").count();
        let streamed = self
            .trace
            .finish(rest, flows as u32)
            .map_err(|e| ScenarioError::too_large(format!("{}: {e}", self.name)))?;
        Ok(RunEnd::Done(Box::new(Done {
            outcome,
            simulated: now,
            links_warm,
            links_end,
            delivered_end,
            streamed,
        })))
    }

    /// Runs up to `end` in slices, reporting progress after each. Returns why it ended early, if it did.
    fn run_to(&mut self, end: Duration, slice: Duration) -> Result<Option<RunEnd>> {
        let end = Instant::ZERO + end;
        let mut until = self.sim.progress().now;
        while until < end {
            until = (until + slice).min(end);
            loop {
                let complete = self.sim.run_some(until, EVENTS_PER_SLICE).map_err(|e| self.error(&e))?;
                self.trace
                    .stream(&mut self.sim)
                    .map_err(|e| ScenarioError::too_large(format!("{}: {e}", self.name)))?;
                if let ControlFlow::Break(early) = self.report() {
                    return Ok(Some(early));
                }
                if complete {
                    break;
                }
            }
        }
        Ok(None)
    }

    fn error(&self, e: &SimError) -> ScenarioError {
        let sentence = format!("{}: {e}", self.name);
        if matches!(e, SimError::Memory { .. } | SimError::TooMany(..)) {
            ScenarioError::too_large(sentence)
        } else {
            ScenarioError::new(sentence)
        }
    }

    /// Publishes its progress and the memory that it holds.
    fn report(&self) -> ControlFlow<RunEnd> {
        let (p, slot) = (self.sim.progress(), self.slot);
        let last = self.scenario.duration() + self.scenario.drain();
        let share = p.now.as_nanos() as f64 / last.as_nanos().max(1) as f64;
        slot.millionths.store((share * 1e6) as u64, Ordering::Relaxed);
        slot.started.store(p.flows_started, Ordering::Relaxed);
        slot.ended.store(p.flows_ended, Ordering::Relaxed);
        self.shared.set_held(slot, self.sim.held_bytes() + self.trace.held_bytes());
        if self.shared.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(RunEnd::Stopped);
        }
        if self.shared.must_yield(self.n) {
            return ControlFlow::Break(RunEnd::OutOfMemory);
        }
        ControlFlow::Continue(())
    }
}

/// The trace of a run. It stays in memory while it is short, and is streamed to the sink once it is not.
struct RunTrace<'a> {
    sink: Option<&'a dyn TraceSink>,
    /// Largest number of events kept in memory.
    share: u64,
    /// Memory limit of `tables`, bytes.
    most: u64,
    label: String,
    job: usize,
    attempt: u32,
    /// `Some` once the trace is streamed.
    tables: Option<EventTables>,
}

impl RunTrace<'_> {
    /// Streams the trace if it has become too long to be kept in memory.
    fn stream(&mut self, sim: &mut Simulation) -> std::result::Result<(), String> {
        let longest = if self.tables.is_some() { PART } else { self.share };
        if self.sink.is_none() || sim.traced() as u64 <= longest {
            return Ok(());
        }
        let tables = self.tables.get_or_insert_default();
        sim.take_trace().iter().for_each(|e| tables.record(e));
        // The events of the present time may not be complete.
        let rows = tables.take_before(sim.progress().now);
        if tables.held_bytes() > self.most {
            return Err(format!(
                "the state that a trace keeps for each flow takes more than {}: trace fewer flows, or allow \
                 more memory (`--memory`)",
                Size(self.most)
            ));
        }
        self.pass(&rows)
    }

    fn pass(&self, rows: &TracedRows) -> std::result::Result<(), String> {
        let Some(sink) = self.sink.filter(|_| !rows.is_empty()) else {
            return Ok(());
        };
        sink.take(&TracePart { job: self.job, attempt: self.attempt, label: &self.label, rows })
    }

    /// Streams the rest, if the trace is streamed.
    fn finish(
        mut self,
        rest: Vec<ackclock_trace::Event>,
        flows: u32,
    ) -> std::result::Result<Option<StreamedTrace>, String> {
        let Some(mut tables) = self.tables.take() else { return Ok(None) };
        rest.iter().for_each(|e| tables.record(e));
        let rows = tables.finish();
        self.pass(&rows)?;
        Ok(Some(StreamedTrace { attempt: self.attempt, episodes: rows.episodes, first_datagram: 2 * flows }))
    }

    fn held_bytes(&self) -> u64 {
        self.tables.as_ref().map_or(0, EventTables::held_bytes)
    }
}
