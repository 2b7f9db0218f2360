//! Runs a resolved scenario.

use std::ops::ControlFlow;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time;

use super::error::Result;
use super::job::{ActiveRun, RunEnd};
use super::limits::{Limits, TraceSink};
use super::resolved::{Job, Resolved};
use super::results::{Results, RunInfo};
use super::shared::{Done, JobSlot, ScenarioProgress, SharedRuns};

/// Interval between calls of `progress`.
const PROGRESS_INTERVAL: time::Duration = time::Duration::from_millis(50);
/// Interval at which a run that ran out of memory checks whether it may start again.
const WAIT: time::Duration = time::Duration::from_millis(20);

/// Runs all jobs of `scenario` on `workers` threads (0 counts as 1). The results do not depend on the number
/// of threads.
///
/// `progress` is called on the calling thread several times a second. It stops the runs by returning `Break`,
/// in which case the result is `None`.
///
/// # Errors
/// When a run cannot be set up, or violates conservation.
pub fn run(
    scenario: &Resolved,
    progress: impl FnMut(&ScenarioProgress) -> ControlFlow<()>,
    workers: usize,
) -> Result<Option<Results>> {
    run_within(scenario, progress, workers, &Limits::default(), None)
}

/// As [`run`], with other limits. Traces that exceed [`Limits::traced_events`] are streamed to `sink`;
/// without a sink they stay in memory.
///
/// # Errors
/// As [`run`], and when the runs exceed the limits, by estimate or in fact.
pub fn run_within(
    scenario: &Resolved,
    mut progress: impl FnMut(&ScenarioProgress) -> ControlFlow<()>,
    workers: usize,
    limits: &Limits,
    sink: Option<&dyn TraceSink>,
) -> Result<Option<Results>> {
    scenario.check_size(limits)?;
    let jobs = scenario.jobs();
    let shared = SharedRuns {
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        done: AtomicUsize::new(0),
        caller: thread::current(),
        limits: *limits,
        sink,
        held: AtomicU64::new(0),
        kept: AtomicU64::new(0),
        slots: jobs.iter().map(|_| JobSlot::default()).collect(),
    };
    thread::scope(|scope| {
        for _ in 0..workers.clamp(1, jobs.len()) {
            scope.spawn(|| work(scenario, &jobs, &shared));
        }
        while shared.done.load(Ordering::Acquire) < jobs.len() && !shared.stop.load(Ordering::Acquire) {
            if progress(&shared.progress(&jobs)).is_break() {
                shared.stop.store(true, Ordering::Release);
            }
            thread::park_timeout(PROGRESS_INTERVAL);
        }
    });
    let _ = progress(&shared.progress(&jobs));
    collect(scenario, &jobs, shared)
}

/// Stops all runs when its thread panics, so that no thread waits for a missing result. The panic then
/// reaches the caller.
struct StopOnPanic<'a, 'b>(&'a SharedRuns<'b>);

impl Drop for StopOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop.store(true, Ordering::Release);
            self.0.caller.unpark();
        }
    }
}

fn work(scenario: &Resolved, jobs: &[Job], shared: &SharedRuns<'_>) {
    let _guard = StopOnPanic(shared);
    loop {
        let n = shared.next.fetch_add(1, Ordering::Relaxed);
        let (Some(job), false) = (jobs.get(n), shared.stop.load(Ordering::Acquire)) else { return };
        let slot = &shared.slots[n];
        let result = simulate(scenario, *job, n, shared).and_then(|done| {
            done.as_ref().map_or(Ok(()), |done| shared.keep(done))?;
            Ok(done)
        });
        shared.set_held(slot, 0);
        if result.is_err() {
            shared.stop.store(true, Ordering::Release);
        }
        *slot.result.lock().unwrap_or_else(PoisonError::into_inner) = result.transpose();
        slot.millionths.store(1_000_000, Ordering::Relaxed);
        shared.done.fetch_add(1, Ordering::Release);
        shared.caller.unpark();
    }
}

/// Runs one simulation; `None` when it was stopped. One that runs out of memory starts again when no earlier
/// one is active.
fn simulate(scenario: &Resolved, job: Job, n: usize, shared: &SharedRuns<'_>) -> Result<Option<Done>> {
    let slot = &shared.slots[n];
    for attempt in 0.. {
        // A non-zero value shows it as active to [`SharedRuns::has_earlier`] from the start.
        shared.set_held(slot, 1);
        match ActiveRun::begin(scenario, job, (n, attempt), shared, slot)?.run()? {
            RunEnd::Done(done) => return Ok(Some(*done)),
            RunEnd::Stopped => return Ok(None),
            RunEnd::OutOfMemory => shared.set_held(slot, 0),
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

fn collect(scenario: &Resolved, jobs: &[Job], shared: SharedRuns<'_>) -> Result<Option<Results>> {
    let mut results = Results::default();
    let mut complete = true;
    for (job, slot) in jobs.iter().zip(shared.slots) {
        match slot.result.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(Err(e)) => return Err(e),
            Some(Ok(Done { outcome, simulated, links_warm, links_end, delivered_end, streamed })) => {
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
                    delivered_end,
                });
                results.flows.extend(outcome.flows);
                results.links.extend(outcome.links);
                results.flow_series.extend(outcome.flow_series);
                results.link_series.extend(outcome.link_series);
                results.exchanges.extend(outcome.exchanges);
                results.rounds.extend(outcome.rounds);
                results.playbacks.extend(outcome.playbacks);
                results.events.push(outcome.events);
                results.streamed.push(streamed);
            }
            None => complete = false,
        }
    }
    Ok(complete.then_some(results))
}
