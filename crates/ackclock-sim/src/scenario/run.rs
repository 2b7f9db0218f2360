//! Running a resolved scenario.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time;

use ackclock_trace::LinkRow;
use ackclock_units::{Duration, Instant};

use super::build;
use super::error::{Result, ScenarioError};
use super::resolve::{Job, Resolved};
use super::results::{Results, RunInfo};
use crate::sim::{Options, Outcome, Simulation};

/// How far a scenario has come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Share of the simulated time, of all runs together, from 0 to 1.
    pub share: f64,
    /// Runs finished.
    pub runs_done: usize,
    /// Runs in all.
    pub runs: usize,
    /// Flows begun so far, in all runs.
    pub flows_started: u64,
    /// Flows ended so far, in all runs.
    pub flows_ended: u64,
}

/// How often progress is told.
const TELL_EVERY: time::Duration = time::Duration::from_millis(50);
/// A run is simulated in this many slices.
const SLICES: u64 = 500;

/// Runs all that `scenario` asks for on `workers` threads (0 and 1: one). The results do not depend on how many there are.
///
/// `progress` is called from the calling thread a few times a second, and stops the runs by answering `Break`; the answer is then `None`.
///
/// # Errors
/// When a run cannot be set up, or the simulator finds its books out of balance.
pub fn run(scenario: &Resolved, mut progress: impl FnMut(&Progress) -> ControlFlow<()>, workers: usize) -> Result<Option<Results>> {
    let jobs = scenario.jobs();
    let shared = Shared {
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        done: AtomicUsize::new(0),
        caller: thread::current(),
        slots: jobs.iter().map(|_| Slot::default()).collect(),
    };
    thread::scope(|scope| {
        for _ in 0..workers.clamp(1, jobs.len()) {
            scope.spawn(|| work(scenario, &jobs, &shared));
        }
        while shared.done.load(Ordering::Acquire) < jobs.len() && !shared.stop.load(Ordering::Acquire) {
            if progress(&shared.progress(&jobs)).is_break() {
                shared.stop.store(true, Ordering::Release);
            }
            thread::park_timeout(TELL_EVERY);
        }
    });
    let _ = progress(&shared.progress(&jobs));
    collect(scenario, &jobs, shared)
}

/// What the threads share. Results are kept by the number of their job, so that it does not matter who makes them.
struct Shared {
    next: AtomicUsize,
    stop: AtomicBool,
    done: AtomicUsize,
    /// Waits for the others, and is woken when one has done its job.
    caller: thread::Thread,
    slots: Vec<Slot>,
}

#[derive(Default)]
struct Slot {
    /// Simulated time in parts of a million.
    millionths: AtomicU64,
    started: AtomicU64,
    ended: AtomicU64,
    result: Mutex<Option<Result<Done>>>,
}

/// A finished simulation.
struct Done {
    outcome: Outcome,
    simulated: Duration,
    links_warm: Vec<LinkRow>,
    links_end: Vec<LinkRow>,
}

impl Shared {
    fn progress(&self, jobs: &[Job]) -> Progress {
        let sum = |count: fn(&Slot) -> &AtomicU64| self.slots.iter().map(|s| count(s).load(Ordering::Relaxed)).sum::<u64>();
        Progress {
            share: sum(|s| &s.millionths) as f64 / (jobs.len() as f64 * 1e6),
            runs_done: self.done.load(Ordering::Acquire),
            runs: jobs.len(),
            flows_started: sum(|s| &s.started),
            flows_ended: sum(|s| &s.ended),
        }
    }
}

/// Stops everything when its thread panics, so that nobody waits for a result that will not come; the panic then reaches the caller.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop.store(true, Ordering::Release);
            self.0.caller.unpark();
        }
    }
}

fn work(scenario: &Resolved, jobs: &[Job], shared: &Shared) {
    let _alarm = Alarm(shared);
    loop {
        let n = shared.next.fetch_add(1, Ordering::Relaxed);
        let (Some(job), false) = (jobs.get(n), shared.stop.load(Ordering::Acquire)) else { return };
        let slot = &shared.slots[n];
        let result = simulate(scenario, *job, slot, &shared.stop);
        if result.is_err() {
            shared.stop.store(true, Ordering::Release);
        }
        *slot.result.lock().unwrap_or_else(PoisonError::into_inner) = result.transpose();
        slot.millionths.store(1_000_000, Ordering::Relaxed);
        shared.done.fetch_add(1, Ordering::Release);
        shared.caller.unpark();
    }
}

/// One simulation; `None` when it was stopped.
fn simulate(scenario: &Resolved, job: Job, slot: &Slot, stop: &AtomicBool) -> Result<Option<Done>> {
    let wrong = |e: crate::SimError| ScenarioError::new(format!("run `{}` with seed {}: {e}", scenario.runs[job.run].label, job.seed));
    let network = build::network(scenario, false)?;
    let sources = build::sources(scenario, job, &network)?;
    let run = scenario.label(job).as_str().into();
    let options = Options { trace: scenario.trace, run, measured: scenario.measured(), ..Options::default() };
    let mut sim = Simulation::new(network, sources, job.seed, options).map_err(wrong)?;
    let (end, last) = (scenario.duration(), scenario.duration() + scenario.drain());
    let slice = Duration::from_nanos((last.as_nanos() / SLICES).max(1));
    let mut tell = |p: &crate::Progress| {
        let share = p.now.as_nanos() as f64 / last.as_nanos().max(1) as f64;
        slot.millionths.store((share * 1e6) as u64, Ordering::Relaxed);
        slot.started.store(p.flows_started, Ordering::Relaxed);
        slot.ended.store(p.flows_ended, Ordering::Relaxed);
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    if !sim.run(Instant::ZERO + scenario.warmup(), slice, &mut tell).map_err(wrong)? {
        return Ok(None);
    }
    let links_warm = sim.links();
    if !sim.run(Instant::ZERO + end, slice, &mut tell).map_err(wrong)? {
        return Ok(None);
    }
    let links_end = sim.links();
    // Nothing starts any more; whoever is under way may finish.
    let mut now = end;
    while now < last && sim.progress().flows_ended < sim.progress().flows_started {
        now = (now + slice).min(last);
        if !sim.run(Instant::ZERO + now, slice, &mut tell).map_err(wrong)? {
            return Ok(None);
        }
    }
    Ok(Some(Done { outcome: sim.finish().map_err(wrong)?, simulated: now, links_warm, links_end }))
}

fn collect(scenario: &Resolved, jobs: &[Job], shared: Shared) -> Result<Option<Results>> {
    let mut results = Results::default();
    let mut complete = true;
    for (job, slot) in jobs.iter().zip(shared.slots) {
        match slot.result.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(Err(e)) => return Err(e),
            Some(Ok(Done { outcome, simulated, links_warm, links_end })) => {
                let run = scenario.runs[job.run].label.clone();
                let label = scenario.label(*job);
                results.runs.push(RunInfo { label, run, seed: job.seed, simulated, events: outcome.processed, links_warm, links_end });
                results.flows.extend(outcome.flows);
                results.links.extend(outcome.links);
                results.events.push(outcome.events);
            }
            None => complete = false,
        }
    }
    Ok(complete.then_some(results))
}
