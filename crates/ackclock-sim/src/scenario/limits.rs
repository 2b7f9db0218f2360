//! How large a scenario's runs may be, and what takes the trace that memory has no room for.

use ackclock_trace::{LinkRow, TracedRows};

use super::error::{Result, ScenarioError};
use super::resolved::Resolved;
use crate::error::Size;
use crate::sim::held;

/// What the runs of a scenario may hold. Whoever runs them chooses it, not the scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Memory, bytes: what a run may hold. Runs side by side share it, and the tables of all runs may take
    /// half of it.
    pub memory: u64,
    /// Traced events that all runs together keep in memory; each has an equal share, and a run that traces
    /// more hands its trace on as it goes.
    pub traced_events: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 4 << 30, traced_events: 2_000_000 }
    }
}

/// A part of the trace of a run, in order of time.
#[derive(Debug)]
pub struct TracePart<'a> {
    /// The number of the run.
    pub job: usize,
    /// How often it was begun before: what an earlier attempt gave counts no more.
    pub attempt: u32,
    /// Its label in the tables.
    pub label: &'a str,
    /// Rows of its tables, but for episodes.
    pub rows: &'a TracedRows,
}

/// Takes the parts of traces as they are made, from several threads.
pub trait TraceSink: Sync {
    /// Takes a part; those of one attempt come in order of time.
    ///
    /// # Errors
    /// When it has no room: the run then ends with this sentence.
    fn take(&self, part: &TracePart<'_>) -> std::result::Result<(), String>;
}

/// Rows of the flows' table and of the links' in memory.
const FLOW_ROW: u64 = size_of::<ackclock_trace::FlowRow>() as u64;
const LINK_ROW: u64 = size_of::<LinkRow>() as u64;

impl Resolved {
    /// Bytes that the tables of all runs are expected to take in memory.
    fn expected_tables(&self) -> f64 {
        let links = self.path.links().count() as f64 * 3.0 * LINK_ROW as f64;
        self.jobs_asked() as f64 * (self.expected.flows * FLOW_ROW as f64 + links)
    }

    /// Events that all runs are expected to trace, about: a few for each segment and its acknowledgment.
    pub fn expected_events(&self) -> f64 {
        use ackclock_trace::Mask;
        let each = |mask, events| if self.trace.any(mask) { events } else { 0.0 };
        let events = each(Mask::PACKETS, EVENTS_OF_PACKETS)
            + each(Mask::SAMPLES, EVENTS_OF_SAMPLES)
            + each(Mask::EPISODES, EVENTS_OF_EPISODES);
        self.jobs_asked() as f64 * self.expected.packets * events
    }

    /// Refuses runs that are expected to hold more than `limits` allow.
    ///
    /// # Errors
    /// One sentence with the estimate, the limit and the keys that would change it.
    pub fn check_size(&self, limits: &Limits) -> Result<()> {
        let (tables, at_once) = (self.expected_tables(), self.expected.at_once * held::FLOW as f64);
        let (runs, flows) = (self.jobs_asked(), self.expected.flows);
        if tables > limits.memory as f64 / 2.0 {
            let message = format!(
                "the tables of {runs} runs with about {flows:.0} flows and {} links each would take about \
                 {}; at most {} would do: lower the load, `flows`, `duration` or the number of runs, or \
                 allow more memory (`--memory`)",
                self.path.links().count(),
                Size(tables as u64),
                Size(limits.memory / 2),
            );
            return Err(ScenarioError::too_large(message));
        }
        if at_once > limits.memory as f64 {
            let message = format!(
                "about {:.0} flows would be under way together and take about {}; at most {} would do: lower \
                 the load, `flows` or `duration`, or allow more memory (`--memory`)",
                self.expected.at_once,
                Size(at_once as u64),
                Size(limits.memory),
            );
            return Err(ScenarioError::too_large(message));
        }
        Ok(())
    }
}

/// Events for each segment with payload: it and its acknowledgment are sent and received; a sample and
/// windows come with the acknowledgment.
const EVENTS_OF_PACKETS: f64 = 3.5;
const EVENTS_OF_SAMPLES: f64 = 2.0;
const EVENTS_OF_EPISODES: f64 = 0.1;
