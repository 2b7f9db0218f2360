//! What the threads that run a scenario share.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use ackclock_trace::{FlowRow, LinkRow};
use ackclock_units::Duration;

use super::error::{Result, ScenarioError};
use super::limits::{Limits, TraceSink};
use super::resolved::Job;
use super::results::HandedOn;
use crate::error::Size;
use crate::sim::Outcome;

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

/// What the threads share. Results are kept by the number of their job, so that it does not matter who makes
/// them.
pub(super) struct Shared<'a> {
    pub(super) next: AtomicUsize,
    pub(super) stop: AtomicBool,
    pub(super) done: AtomicUsize,
    /// Waits for the others, and is woken when one has done its job.
    pub(super) caller: thread::Thread,
    pub(super) limits: Limits,
    pub(super) sink: Option<&'a dyn TraceSink>,
    /// What the runs under way hold together.
    pub(super) held: AtomicU64,
    /// What the results of finished runs take.
    pub(super) kept: AtomicU64,
    pub(super) slots: Vec<Slot>,
}

#[derive(Default)]
pub(super) struct Slot {
    /// Simulated time in parts of a million.
    pub(super) millionths: AtomicU64,
    pub(super) started: AtomicU64,
    pub(super) ended: AtomicU64,
    /// Memory that the run holds while it is under way, bytes; 0 when it is not.
    pub(super) held: AtomicU64,
    pub(super) result: Mutex<Option<Result<Done>>>,
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

    pub(super) fn has_earlier(&self, n: usize) -> bool {
        self.slots[..n].iter().any(|s| s.held.load(Ordering::Relaxed) > 0)
    }

    /// Adds what the results of a finished run take. They have half of the memory.
    pub(super) fn keep(&self, done: &Done) -> Result<()> {
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

    pub(super) fn progress(&self, jobs: &[Job]) -> Progress {
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

/// A finished simulation.
pub(super) struct Done {
    pub(super) outcome: Outcome,
    pub(super) simulated: Duration,
    pub(super) links_warm: Vec<LinkRow>,
    pub(super) links_end: Vec<LinkRow>,
    pub(super) handed_on: Option<HandedOn>,
}
