//! Running a resolved scenario.

use std::ops::ControlFlow;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time;

use super::error::Result;
use super::job::{Course, End};
use super::limits::{Limits, TraceSink};
use super::resolved::{Job, Resolved};
use super::results::{Results, RunInfo};
use super::shared::{Done, Progress, Shared, Slot};

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
