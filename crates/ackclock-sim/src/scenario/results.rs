use ackclock_trace::{EpisodeRow, Event, FlowRow, LinkRow};
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
    /// Events of each simulation, where the trace asked for them and there was room.
    pub events: Vec<Vec<Event>>,
    /// What became of each trace that was handed on as it was made.
    pub handed_on: Vec<Option<HandedOn>>,
}

/// A trace of which a [`super::TraceSink`] has the samples and the segments.
#[derive(Clone, PartialEq, Debug)]
pub struct HandedOn {
    /// The attempt that counts.
    pub attempt: u32,
    /// Its episodes.
    pub episodes: Vec<EpisodeRow>,
    /// The connection by which the tables call the first source of datagrams, which is
    /// [`crate::FIRST_DATAGRAM`] in the parts.
    pub first_datagram: u32,
}
