//! State shared by the threads that run a scenario.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use ackclock_trace::{
    ExchangeRow, FlowRow, FlowSeriesRow, Label, LinkRow, LinkSeriesRow, PlaybackRow, RoundRow,
};
use ackclock_units::{Bytes, Duration};

use super::error::{Result, ScenarioError};
use super::limits::{Limits, TraceSink};
use super::resolved::Job;
use super::results::StreamedTrace;
use crate::error::Size;
use crate::sim::RunOutcome;

/// Progress of a scenario's runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ScenarioProgress {
    /// Share of the simulated time of all runs that has passed, from 0 to 1.
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

/// State shared by the threads. Results are stored by number of their job, so that they do not depend on
/// which thread ran it.
pub(super) struct SharedRuns<'a> {
    pub(super) next: AtomicUsize,
    pub(super) stop: AtomicBool,
    pub(super) done: AtomicUsize,
    /// The thread that waits for the workers, unparked after each job.
    pub(super) caller: thread::Thread,
    pub(super) limits: Limits,
    pub(super) sink: Option<&'a dyn TraceSink>,
    /// Memory held by all active runs, bytes.
    pub(super) held: AtomicU64,
    /// Memory of the results of finished runs, bytes.
    pub(super) kept: AtomicU64,
    pub(super) slots: Vec<JobSlot>,
}

#[derive(Default)]
pub(super) struct JobSlot {
    /// Simulated time that has passed, in millionths of the run.
    pub(super) millionths: AtomicU64,
    pub(super) started: AtomicU64,
    pub(super) ended: AtomicU64,
    /// Memory held by the run, bytes; 0 when it is not active.
    pub(super) held: AtomicU64,
    pub(super) result: Mutex<Option<Result<Done>>>,
}

impl SharedRuns<'_> {
    /// True when the active runs together exceed the memory limit and a run with a lower number than `n` is
    /// active. Run `n` is then aborted and started again later. So the first active run is never aborted, and
    /// the results do not depend on timing.
    pub(super) fn must_yield(&self, n: usize) -> bool {
        self.held.load(Ordering::Relaxed) + self.kept.load(Ordering::Relaxed) > self.limits.memory
            && self.has_earlier(n)
    }

    /// Sets the memory held by the run of `slot`.
    pub(super) fn set_held(&self, slot: &JobSlot, bytes: u64) {
        // In this order the sum is never too low.
        self.held.fetch_add(bytes, Ordering::Relaxed);
        self.held.fetch_sub(slot.held.swap(bytes, Ordering::Relaxed), Ordering::Relaxed);
    }

    pub(super) fn has_earlier(&self, n: usize) -> bool {
        self.slots[..n].iter().any(|s| s.held.load(Ordering::Relaxed) > 0)
    }

    /// Adds the memory of a finished run's results, which together may take half of the limit.
    pub(super) fn keep(&self, done: &Done) -> Result<()> {
        let links = done.outcome.links.len() + done.links_warm.len() + done.links_end.len();
        let outcome = &done.outcome;
        let series = outcome.flow_series.len() * size_of::<FlowSeriesRow>()
            + outcome.link_series.len() * size_of::<LinkSeriesRow>();
        let rows = outcome.flows.len() * size_of::<FlowRow>()
            + outcome.exchanges.len() * size_of::<ExchangeRow>()
            + outcome.rounds.len() * size_of::<RoundRow>()
            + outcome.playbacks.len() * size_of::<PlaybackRow>()
            + links * size_of::<LinkRow>();
        let bytes = (series + rows) as u64;
        let (all, most) = (self.kept.fetch_add(bytes, Ordering::Relaxed) + bytes, self.limits.memory / 2);
        if all <= most {
            return Ok(());
        }
        let message =
            "lower the load, make `duration` shorter, use fewer runs, or allow more memory (`--memory`)";
        Err(ScenarioError::too_large(format!(
            "the tables of all runs would take more than {}: {message}",
            Size(most)
        )))
    }

    pub(super) fn progress(&self, jobs: &[Job]) -> ScenarioProgress {
        let sum = |count: fn(&JobSlot) -> &AtomicU64| {
            self.slots.iter().map(|s| count(s).load(Ordering::Relaxed)).sum::<u64>()
        };
        ScenarioProgress {
            share: sum(|s| &s.millionths) as f64 / (jobs.len() as f64 * 1e6),
            runs_done: self.done.load(Ordering::Acquire),
            runs: jobs.len(),
            flows_started: sum(|s| &s.started),
            flows_ended: sum(|s| &s.ended),
        }
    }
}

/// A finished simulation.
pub(super) struct Done {
    pub(super) outcome: RunOutcome,
    pub(super) simulated: Duration,
    pub(super) links_warm: Vec<LinkRow>,
    pub(super) links_end: Vec<LinkRow>,
    pub(super) delivered_end: BTreeMap<Label, Bytes>,
    pub(super) streamed: Option<StreamedTrace>,
}
