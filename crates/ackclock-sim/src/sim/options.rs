//! Options, progress and results of a run.

use ackclock_trace::{
    Event, ExchangeRow, FlowRow, FlowSeriesRow, Label, LinkRow, LinkSeriesRow, Mask, PlaybackRow, RoundRow,
};
use ackclock_units::{Duration, Instant};

/// Which part of a run the tables count (M-U1: without the initial slow start).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MeasuredSpan {
    /// All of it.
    #[default]
    Whole,
    /// From this moment, for flows and links.
    From(Instant),
    /// For each flow, from the end of its n-th loss episode on; for links, all of the run.
    AfterEpisodes(u32),
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What is traced of every flow.
    pub trace: Mask,
    /// Label of the run in every row.
    pub run: Label,
    /// Label of the stack under test in every row; when empty, a flow's row has the label of its sender's
    /// stack.
    pub stack: Label,
    /// Which part of the run is counted.
    pub measured: MeasuredSpan,
    /// The interval at which rows of flows and links over time are added, above zero; `None` adds none. With
    /// it, links measure the sojourn times in their queues.
    pub series: Option<Duration>,
    /// Memory limit, bytes: a run that would exceed it ends with an error.
    pub memory: u64,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            trace: Mask::NONE,
            run: "".into(),
            stack: "".into(),
            measured: MeasuredSpan::Whole,
            series: None,
            memory: u64::MAX,
        }
    }
}

/// The state of a run in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Instant,
    /// Flows begun.
    pub flows_started: u64,
    /// Flows ended.
    pub flows_ended: u64,
    /// Events processed.
    pub events: u64,
    /// Segments with payload that entered the wire of any link.
    pub data_packets: u64,
}

/// The tables of a finished run.
#[derive(Debug, Default)]
pub struct RunOutcome {
    /// One row for each flow and each datagram source: flows first, in the order of their starts.
    pub flows: Vec<FlowRow>,
    /// One row for each link, in the order in which they were added.
    pub links: Vec<LinkRow>,
    /// Flows over time, in order of time, then of flow.
    pub flow_series: Vec<FlowSeriesRow>,
    /// Links over time, in order of time, then of link.
    pub link_series: Vec<LinkSeriesRow>,
    /// One row for each exchange of the applications that record them, by flow and number.
    pub exchanges: Vec<ExchangeRow>,
    /// One row for each round of a fan-in, by workload and number.
    pub rounds: Vec<RoundRow>,
    /// One row for each flow that plays a video.
    pub playbacks: Vec<PlaybackRow>,
    /// Events selected by the trace mask. Connection `2 n` is the client of flow `n`, or the source of
    /// datagrams, and `2 n + 1` its server.
    pub events: Vec<Event>,
    /// Events that the run loop processed.
    pub processed: u64,
}
