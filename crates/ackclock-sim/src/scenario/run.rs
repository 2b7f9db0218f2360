//! Running a resolved scenario.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time;

use ackclock_trace::{FlowRow, LinkRow};

use super::error::{Result, ScenarioError};
use super::job::{Course, Done, End};
use super::limits::{Limits, TraceSink};
use super::resolve::{Job, Resolved};
use super::results::{Results, RunInfo};
use crate::error::Size;

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
/// How often a run that found no room asks whether it is its turn.
const WAIT: time::Duration = time::Duration::from_millis(20);

/// Runs all that `scenario` asks for on `workers` threads (0 and 1: one). The results do not depend on how
/// many there are.
///
/// `progress` is called from the calling thread a few times a second, and stops the runs by answering
/// `Break`; the answer is then `None`.
///
/// # Errors
/// When a run cannot be set up, or the simulator finds its books out of balance.
pub fn run(
    scenario: &Resolved,
    progress: impl FnMut(&Progress) -> ControlFlow<()>,
    workers: usize,
) -> Result<Option<Results>> {
    run_within(scenario, progress, workers, &Limits::default(), None)
}

/// The same within other limits. Traces that have no room in memory go to `sink`; without one they count as
/// memory.
///
/// # Errors
/// As [`run`], and when the runs are expected to hold more than they may, or do.
pub fn run_within(
    scenario: &Resolved,
    mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
    workers: usize,
    limits: &Limits,
    sink: Option<&dyn TraceSink>,
) -> Result<Option<Results>> {
    scenario.check_size(limits)?;
    let jobs = scenario.jobs();
    let shared = Shared {
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        done: AtomicUsize::new(0),
        caller: thread::current(),
        limits: *limits,
        sink,
        held: AtomicU64::new(0),
        kept: AtomicU64::new(0),
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

/// What the threads share. Results are kept by the number of their job, so that it does not matter who makes
/// them.
pub(super) struct Shared<'a> {
    next: AtomicUsize,
    pub(super) stop: AtomicBool,
    done: AtomicUsize,
    /// Waits for the others, and is woken when one has done its job.
    caller: thread::Thread,
    pub(super) limits: Limits,
    pub(super) sink: Option<&'a dyn TraceSink>,
    /// What the runs under way hold together.
    held: AtomicU64,
    /// What the results of finished runs take.
    kept: AtomicU64,
    slots: Vec<Slot>,
}

#[derive(Default)]
pub(super) struct Slot {
    /// Simulated time in parts of a million.
    pub(super) millionths: AtomicU64,
    pub(super) started: AtomicU64,
    pub(super) ended: AtomicU64,
    /// Memory that the run holds while it is under way, bytes; 0 when it is not.
    held: AtomicU64,
    result: Mutex<Option<Result<Done>>>,
}

impl Shared<'_> {
    /// True when the runs under way hold more than they may together, and a run of a lower number than `n` is
    /// among them: `n` gives way. So the first one always goes on, and results do not depend on it.
    pub(super) fn must_give_way(&self, n: usize) -> bool {
        self.held.load(Ordering::Relaxed) + self.kept.load(Ordering::Relaxed) > self.limits.memory
            && self.has_earlier(n)
    }

    /// The run of `slot` holds so many bytes now.
    pub(super) fn holds(&self, slot: &Slot, bytes: u64) {
        // In this order the sum never falls below what is there.
        self.held.fetch_add(bytes, Ordering::Relaxed);
        self.held.fetch_sub(slot.held.swap(bytes, Ordering::Relaxed), Ordering::Relaxed);
    }

    fn has_earlier(&self, n: usize) -> bool {
        self.slots[..n].iter().any(|s| s.held.load(Ordering::Relaxed) > 0)
    }

    /// Adds what the results of a finished run take. They have half of the memory.
    fn keep(&self, done: &Done) -> Result<()> {
        let links = done.outcome.links.len() + done.links_warm.len() + done.links_end.len();
        let bytes = (done.outcome.flows.len() * size_of::<FlowRow>() + links * size_of::<LinkRow>()) as u64;
        let (all, most) = (self.kept.fetch_add(bytes, Ordering::Relaxed) + bytes, self.limits.memory / 2);
        if all <= most {
            return Ok(());
        }
        let message =
            "lower the load, make `duration` shorter, ask for fewer runs, or allow more memory (`--memory`)";
        Err(ScenarioError::too_large(format!(
            "the tables of all runs would take more than {}: {message}",
            Size(most)
        )))
    }

    fn progress(&self, jobs: &[Job]) -> Progress {
        let sum = |count: fn(&Slot) -> &AtomicU64| {
            self.slots.iter().map(|s| count(s).load(Ordering::Relaxed)).sum::<u64>()
        };
        Progress {
            share: sum(|s| &s.millionths) as f64 / (jobs.len() as f64 * 1e6),
            runs_done: self.done.load(Ordering::Acquire),
            runs: jobs.len(),
            flows_started: sum(|s| &s.started),
            flows_ended: sum(|s| &s.ended),
        }
    }
}

/// Stops everything when its thread panics, so that nobody waits for a result that will not come; the panic
/// then reaches the caller.
struct Alarm<'a, 'b>(&'a Shared<'b>);

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop.store(true, Ordering::Release);
            self.0.caller.unpark();
        }
    }
}

fn work(scenario: &Resolved, jobs: &[Job], shared: &Shared<'_>) {
    let _alarm = Alarm(shared);
    loop {
        let n = shared.next.fetch_add(1, Ordering::Relaxed);
        let (Some(job), false) = (jobs.get(n), shared.stop.load(Ordering::Acquire)) else { return };
        let slot = &shared.slots[n];
        let result = simulate(scenario, *job, n, shared).and_then(|done| {
            done.as_ref().map_or(Ok(()), |done| shared.keep(done))?;
            Ok(done)
        });
        shared.holds(slot, 0);
        if result.is_err() {
            shared.stop.store(true, Ordering::Release);
        }
        *slot.result.lock().unwrap_or_else(PoisonError::into_inner) = result.transpose();
        slot.millionths.store(1_000_000, Ordering::Relaxed);
        shared.done.fetch_add(1, Ordering::Release);
        shared.caller.unpark();
    }
}

/// One simulation; `None` when it was stopped. One that has to give way begins anew when it is the first of
/// those under way.
fn simulate(scenario: &Resolved, job: Job, n: usize, shared: &Shared<'_>) -> Result<Option<Done>> {
    let slot = &shared.slots[n];
    for attempt in 0.. {
        // Nobody before it is to take it for one that is not under way.
        shared.holds(slot, 1);
        match Course::begin(scenario, job, (n, attempt), shared, slot)?.run()? {
            End::Done(done) => return Ok(Some(*done)),
            End::Stopped => return Ok(None),
            End::GaveWay => shared.holds(slot, 0),
        }
        while shared.has_earlier(n) {
            if shared.stop.load(Ordering::Acquire) {
                return Ok(None);
            }
            thread::park_timeout(WAIT);
        }
    }
    Ok(None)
}

fn collect(scenario: &Resolved, jobs: &[Job], shared: Shared<'_>) -> Result<Option<Results>> {
    let mut results = Results::default();
    let mut complete = true;
    for (job, slot) in jobs.iter().zip(shared.slots) {
        match slot.result.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(Err(e)) => return Err(e),
            Some(Ok(Done { outcome, simulated, links_warm, links_end, handed_on })) => {
                let run = scenario.runs[job.run].label.clone();
                let label = scenario.label(*job);
                results.runs.push(RunInfo {
                    label,
                    run,
                    seed: job.seed,
                    simulated,
                    events: outcome.processed,
                    links_warm,
                    links_end,
                });
                results.flows.extend(outcome.flows);
                results.links.extend(outcome.links);
                results.events.push(outcome.events);
                results.handed_on.push(handed_on);
            }
            None => complete = false,
        }
    }
    Ok(complete.then_some(results))
}
