//! One simulation of a scenario, from its beginning to its tables.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use ackclock_trace::{EventTables, Sink, TracedRows};
use ackclock_units::{Duration, Instant};

use super::build;
use super::error::{Result, ScenarioError};
use super::limits::{TracePart, TraceSink};
use super::resolved::{Job, Resolved};
use super::results::HandedOn;
use super::shared::{Done, Shared, Slot};
use crate::SimError;
use crate::error::Size;
use crate::sim::{EVENTS_PER_SLICE, Options, Simulation};

/// A run is simulated in this many slices.
const SLICES: u64 = 500;
/// A trace is handed on in parts of about so many events.
const PART: u64 = 100_000;

/// How a simulation came to its end.
pub(super) enum End {
    Done(Box<Done>),
    /// Somebody stopped all of them.
    Stopped,
    /// The others need the memory.
    GaveWay,
}

/// A simulation under way.
pub(super) struct Course<'a> {
    scenario: &'a Resolved,
    shared: &'a Shared<'a>,
    slot: &'a Slot,
    sim: Simulation,
    trace: Trace<'a>,
    /// Its number among the runs.
    n: usize,
    /// What errors call it.
    name: String,
}

impl<'a> Course<'a> {
    /// Sets run number `n` up.
    pub(super) fn begin(
        scenario: &'a Resolved,
        job: Job,
        (n, attempt): (usize, u32),
        shared: &'a Shared<'a>,
        slot: &'a Slot,
    ) -> Result<Self> {
        let name = format!("run `{}` with seed {}", scenario.runs[job.run].label, job.seed);
        let network = build::network(scenario, false)?;
        let sources = build::sources(scenario, job, &network)?;
        let (label, limits) = (scenario.label(job), &shared.limits);
        let options = Options {
            trace: scenario.trace,
            run: label.as_str().into(),
            measured: scenario.measured(),
            memory: limits.memory,
            ..Options::default()
        };
        let share = limits.traced_events / scenario.jobs_asked() as u64;
        let trace =
            Trace { sink: shared.sink, share, most: limits.memory / 4, label, job: n, attempt, tables: None };
        let sim = Simulation::new(network, sources, job.seed, options)
            .map_err(|e| ScenarioError::new(format!("{name}: {e}")))?;
        Ok(Self { scenario, shared, slot, sim, trace, n, name })
    }

    /// Runs it to its end.
    pub(super) fn run(mut self) -> Result<End> {
        let (end, last) = (self.scenario.duration(), self.scenario.duration() + self.scenario.drain());
        let slice = Duration::from_nanos((last.as_nanos() / SLICES).max(1));
        if let Some(early) = self.to(self.scenario.warmup(), slice)? {
            return Ok(early);
        }
        let links_warm = self.sim.links();
        if let Some(early) = self.to(end, slice)? {
            return Ok(early);
        }
        let links_end = self.sim.links();
        // Nothing starts any more; whoever is under way may finish.
        let mut now = end;
        while now < last && self.sim.progress().flows_ended < self.sim.progress().flows_started {
            now = (now + slice).min(last);
            if let Some(early) = self.to(now, slice)? {
                return Ok(early);
            }
        }
        let rest = if self.trace.tables.is_some() { self.sim.take_trace() } else { Vec::new() };
        let outcome = self.sim.finish().map_err(|e| ScenarioError::new(format!("{}: {e}", self.name)))?;
        let flows = outcome.flows.iter().take_while(|row| row.protocol == "tcp").count();
        let handed_on = self
            .trace
            .finish(rest, flows as u32)
            .map_err(|e| ScenarioError::too_large(format!("{}: {e}", self.name)))?;
        Ok(End::Done(Box::new(Done { outcome, simulated: now, links_warm, links_end, handed_on })))
    }

    /// Goes on to the moment `end`, in slices, telling of each; what ended it early, if anything did.
    fn to(&mut self, end: Duration, slice: Duration) -> Result<Option<End>> {
        let end = Instant::ZERO + end;
        let mut until = self.sim.progress().now;
        while until < end {
            until = (until + slice).min(end);
            loop {
                let through = self.sim.run_some(until, EVENTS_PER_SLICE).map_err(|e| self.wrong(&e))?;
                self.trace
                    .hand_on(&mut self.sim)
                    .map_err(|e| ScenarioError::too_large(format!("{}: {e}", self.name)))?;
                if let ControlFlow::Break(early) = self.tell() {
                    return Ok(Some(early));
                }
                if through {
                    break;
                }
            }
        }
        Ok(None)
    }

    fn wrong(&self, e: &SimError) -> ScenarioError {
        let sentence = format!("{}: {e}", self.name);
        if matches!(e, SimError::Memory { .. } | SimError::TooMany(..)) {
            ScenarioError::too_large(sentence)
        } else {
            ScenarioError::new(sentence)
        }
    }

    /// Says how far it has come and what it holds.
    fn tell(&self) -> ControlFlow<End> {
        let (p, slot) = (self.sim.progress(), self.slot);
        let last = self.scenario.duration() + self.scenario.drain();
        let share = p.now.as_nanos() as f64 / last.as_nanos().max(1) as f64;
        slot.millionths.store((share * 1e6) as u64, Ordering::Relaxed);
        slot.started.store(p.flows_started, Ordering::Relaxed);
        slot.ended.store(p.flows_ended, Ordering::Relaxed);
        self.shared.holds(slot, self.sim.held_bytes() + self.trace.held_bytes());
        if self.shared.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(End::Stopped);
        }
        if self.shared.must_give_way(self.n) {
            return ControlFlow::Break(End::GaveWay);
        }
        ControlFlow::Continue(())
    }
}

/// What a run does with its trace: it stays in memory as long as it is short.
struct Trace<'a> {
    sink: Option<&'a dyn TraceSink>,
    /// Events that stay in memory.
    share: u64,
    /// Memory that the tables may take while the trace is handed on.
    most: u64,
    label: String,
    job: usize,
    attempt: u32,
    /// There are some once the trace is handed on.
    tables: Option<EventTables>,
}

impl Trace<'_> {
    /// Hands the trace on, if it has become too long to be kept.
    fn hand_on(&mut self, sim: &mut Simulation) -> std::result::Result<(), String> {
        let longest = if self.tables.is_some() { PART } else { self.share };
        if self.sink.is_none() || sim.traced() as u64 <= longest {
            return Ok(());
        }
        let tables = self.tables.get_or_insert_default();
        sim.take_trace().iter().for_each(|e| tables.record(e));
        // What happens at the present moment may not be complete.
        let rows = tables.take_before(sim.progress().now);
        if tables.held_bytes() > self.most {
            return Err(format!(
                "what a trace remembers of each flow takes more than {}: trace fewer flows, or allow more \
                 memory (`--memory`)",
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

    /// Hands the rest on, where the trace was handed on before.
    fn finish(
        mut self,
        rest: Vec<ackclock_trace::Event>,
        flows: u32,
    ) -> std::result::Result<Option<HandedOn>, String> {
        let Some(mut tables) = self.tables.take() else { return Ok(None) };
        rest.iter().for_each(|e| tables.record(e));
        let rows = tables.finish();
        self.pass(&rows)?;
        Ok(Some(HandedOn { attempt: self.attempt, episodes: rows.episodes, first_datagram: 2 * flows }))
    }

    fn held_bytes(&self) -> u64 {
        self.tables.as_ref().map_or(0, EventTables::held_bytes)
    }
}
