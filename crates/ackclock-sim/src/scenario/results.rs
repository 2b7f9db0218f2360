use std::collections::BTreeMap;

use ackclock_trace::{
    EpisodeRow, Event, ExchangeRow, FlowRow, FlowSeriesRow, Label, LinkRow, LinkSeriesRow, PlaybackRow,
    RoundRow,
};
use ackclock_units::{Bytes, Duration};

/// One simulation of a scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct RunInfo {
    /// Its label in the tables.
    pub label: String,
    /// Label of the scenario's run.
    pub run: String,
    /// Its seed.
    pub seed: u64,
    /// Simulated time.
    pub simulated: Duration,
    /// Events processed.
    pub events: u64,
    /// The table of links at the end of the warm-up.
    pub links_warm: Vec<LinkRow>,
    /// The table of links at the end of `duration`.
    pub links_end: Vec<LinkRow>,
    /// Payload that the connections of each stack had delivered at the end of `duration`, from the warm-up on.
    pub delivered_end: BTreeMap<Label, Bytes>,
}

/// The results of a scenario: the tables of all its runs, concatenated.
#[derive(Debug, Default)]
pub struct Results {
    /// Its simulations, in the order of their rows.
    pub runs: Vec<RunInfo>,
    /// One row for each flow.
    pub flows: Vec<FlowRow>,
    /// One row for each link.
    pub links: Vec<LinkRow>,
    /// Flows over time; empty unless the scenario has `series`.
    pub flow_series: Vec<FlowSeriesRow>,
    /// Links over time; empty unless the scenario has `series`.
    pub link_series: Vec<LinkSeriesRow>,
    /// One row for each request and its response, of applications that make many on a connection.
    pub exchanges: Vec<ExchangeRow>,
    /// One row for each round of a fan-in.
    pub rounds: Vec<RoundRow>,
    /// One row for each video.
    pub playbacks: Vec<PlaybackRow>,
    /// Traced events of each simulation; empty where the trace was streamed.
    pub events: Vec<Vec<Event>>,
    /// For each simulation, what remains of a streamed trace.
    pub streamed: Vec<Option<StreamedTrace>>,
}

/// A trace whose samples and segments were passed to a [`super::TraceSink`].
#[derive(Clone, PartialEq, Debug)]
pub struct StreamedTrace {
    /// The valid attempt; parts of earlier ones are void.
    pub attempt: u32,
    /// Its episodes.
    pub episodes: Vec<EpisodeRow>,
    /// Number of the first datagram source's connection in the tables; in the parts it is
    /// [`crate::FIRST_DATAGRAM`].
    pub first_datagram: u32,
}
