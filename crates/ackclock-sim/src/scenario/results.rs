use ackclock_trace::{Event, FlowRow, LinkRow};
use ackclock_units::Duration;

/// What one simulation was.
#[derive(Clone, PartialEq, Debug)]
pub struct RunInfo {
    /// Its label in the tables.
    pub label: String,
    /// Which run of the scenario.
    pub run: String,
    /// Its seed.
    pub seed: u64,
    /// Simulated time.
    pub simulated: Duration,
    /// Events processed.
    pub events: u64,
    /// Links as they stood when the warm-up was over.
    pub links_warm: Vec<LinkRow>,
    /// Links as they stood at the end of `duration`.
    pub links_end: Vec<LinkRow>,
}

/// The results of a scenario: the tables of all its runs, one after the other, and what they come to.
#[derive(Debug, Default)]
pub struct Results {
    /// Its simulations, in the order of their rows.
    pub runs: Vec<RunInfo>,
    /// One row for each flow.
    pub flows: Vec<FlowRow>,
    /// One row for each link.
    pub links: Vec<LinkRow>,
    /// Events of each simulation, where the trace asked for them.
    pub events: Vec<Vec<Event>>,
}
