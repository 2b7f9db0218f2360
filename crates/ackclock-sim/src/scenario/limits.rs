//! Limits of memory and trace for a scenario's runs, and the sink of traces that exceed them.

use ackclock_trace::{FlowSeriesRow, LinkRow, LinkSeriesRow, TracedRows};

use super::error::{Result, ScenarioError};
use super::resolved::Resolved;
use crate::error::Size;
use crate::sim::held;

/// Limits for the runs of a scenario, set by the caller and not by the scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Memory, bytes, of all concurrent runs together. The tables of all runs may take half of it.
    pub memory: u64,
    /// Traced events that all runs together keep in memory. Each run has an equal share; one that traces more
    /// streams its trace to the sink.
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
    /// Number of the run.
    pub job: usize,
    /// Number of earlier attempts at this run, whose parts are void.
    pub attempt: u32,
    /// Its label in the tables.
    pub label: &'a str,
    /// Rows of its tables except episodes.
    pub rows: &'a TracedRows,
}

/// Takes the parts of traces as they are produced, from several threads.
pub trait TraceSink: Sync {
    /// Takes a part. The parts of one attempt come in order of time.
    ///
    /// # Errors
    /// When the part cannot be stored. The run then ends with this message.
    fn take(&self, part: &TracePart<'_>) -> std::result::Result<(), String>;
}

/// Size of a row of the table of flows and of links in memory.
const FLOW_ROW: u64 = size_of::<ackclock_trace::FlowRow>() as u64;
const LINK_ROW: u64 = size_of::<LinkRow>() as u64;
/// The same of the tables over time.
const FLOW_SERIES_ROW: u64 = size_of::<FlowSeriesRow>() as u64;
const LINK_SERIES_ROW: u64 = size_of::<LinkSeriesRow>() as u64;

impl Resolved {
    /// Estimated memory of the tables of all runs, bytes.
    fn expected_tables(&self) -> f64 {
        let links = self.path.links().count() as f64 * 3.0 * LINK_ROW as f64;
        self.job_count() as f64 * (self.expected.flows * FLOW_ROW as f64 + links + self.expected_series())
    }

    /// Estimated memory of the tables over time of one run, bytes: a row for each link and each active flow at
    /// each moment, and one more for each flow that ends.
    fn expected_series(&self) -> f64 {
        let Some(interval) = self.series() else { return 0.0 };
        let moments = (self.duration() + self.drain()).as_secs_f64() / interval.as_secs_f64();
        let links = self.path.links().count() as f64 * LINK_SERIES_ROW as f64;
        let flows = moments * self.expected.at_once + self.expected.flows;
        moments * links + flows * FLOW_SERIES_ROW as f64
    }

    /// Estimated number of segments with payload, and datagrams, of all runs.
    pub fn expected_packets(&self) -> f64 {
        self.job_count() as f64 * self.expected.packets
    }

    /// Estimated number of traced events of all runs: a few for each segment and its acknowledgment.
    pub fn expected_events(&self) -> f64 {
        use ackclock_trace::Mask;
        let each = |mask, events| if self.trace.any(mask) { events } else { 0.0 };
        let events = each(Mask::PACKETS, EVENTS_OF_PACKETS)
            + each(Mask::SAMPLES, EVENTS_OF_SAMPLES)
            + each(Mask::EPISODES, EVENTS_OF_EPISODES);
        self.expected_packets() * events
    }

    /// Refuses runs whose estimated memory exceeds `limits`.
    ///
    /// # Errors
    /// One sentence with the estimate, the limit and the keys that would change it.
    pub fn check_size(&self, limits: &Limits) -> Result<()> {
        let (tables, at_once) = (self.expected_tables(), self.expected.at_once * held::FLOW as f64);
        let (runs, flows) = (self.job_count(), self.expected.flows);
        if tables > limits.memory as f64 / 2.0 {
            let message = format!(
                "the tables of {runs} runs with about {flows:.0} flows and {} links each would take about \
                 {}; the limit is {}: lower the load, `flows`, `duration` or the number of runs{}, or allow \
                 more memory (`--memory`)",
                self.path.links().count(),
                Size(tables as u64),
                Size(limits.memory / 2),
                if self.series().is_some() { ", give a longer `series`" } else { "" },
            );
            return Err(ScenarioError::too_large(message));
        }
        if at_once > limits.memory as f64 {
            let message = format!(
                "about {:.0} flows would be active at once and take about {}; the limit is {}: lower the \
                 load, `flows` or `duration`, or allow more memory (`--memory`)",
                self.expected.at_once,
                Size(at_once as u64),
                Size(limits.memory),
            );
            return Err(ScenarioError::too_large(message));
        }
        Ok(())
    }
}

/// Traced events for each segment with payload: it and its acknowledgment are sent and received, and the
/// acknowledgment brings a sample and windows.
const EVENTS_OF_PACKETS: f64 = 3.5;
const EVENTS_OF_SAMPLES: f64 = 2.0;
const EVENTS_OF_EPISODES: f64 = 0.1;
