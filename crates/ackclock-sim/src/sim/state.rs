//! The state of a run.

use std::sync::Arc;

use ackclock_trace::{Event, FlowRow, LinkRow};
use ackclock_units::Rng;

use super::barrier::Barrier;
use super::exchanges::Taken;
use super::memory::Memory;
use super::options::RunOptions;
use super::path::Net;
use super::series::Series;
use crate::endpoint::{Flow, FlowKind};
use crate::flow::{DatagramSource, FlowSeeds, FlowSource, FlowSpec, GapReceiver};

/// A run. It uses no global state, so several can exist in one process.
pub struct Simulation {
    pub(super) net: Net,
    pub(super) flows: Vec<Option<Flow>>,
    pub(super) free_flows: Vec<u32>,
    pub(super) flow_sources: Vec<FlowSourceState>,
    pub(super) datagrams: Vec<DatagramSourceState>,
    pub(super) seed: u64,
    pub(super) seeds: FlowSeeds,
    pub(super) options: RunOptions,
    pub(super) rows: Vec<FlowRow>,
    /// The exchanges and videos of flows that have ended.
    pub(super) taken: Taken,
    pub(super) trace: Vec<Event>,
    pub(super) started: u32,
    pub(super) ended: u64,
    pub(super) processed: u64,
    pub(super) memory: Memory,
    /// The table of links when counting began (`MeasuredSpan::From`).
    pub(super) links_before: Option<Vec<LinkRow>>,
    /// `None` in a run without series.
    pub(super) series: Option<Box<Series>>,
}

/// A source of flows with its state.
pub(super) struct FlowSourceState {
    pub(super) source: Box<dyn FlowSource>,
    pub(super) rng: Rng,
    pub(super) next: Option<FlowSpec>,
    /// The kind of its latest flow.
    pub(super) kind: Option<Arc<FlowKind>>,
    /// Its last call returned no flow.
    pub(super) idle: bool,
    /// Where the clients of its flows wait for each other.
    pub(super) barrier: Barrier<u32>,
}

/// A source of datagrams with its state.
pub(super) struct DatagramSourceState {
    pub(super) source: Box<dyn DatagramSource>,
    pub(super) rng: Rng,
    pub(super) next_bytes: u32,
    pub(super) flow: u32,
    /// Size of the receiver's reports, if it sends any.
    pub(super) reports: Option<u32>,
    /// Its receiver, if that sends reports.
    pub(super) receiver: GapReceiver,
}

/// Marks the connection of a traced datagram until the flows have been counted.
pub(super) const TRACED_DATAGRAMS: u32 = FIRST_DATAGRAM;
/// Number of the first datagram source's connection in the events of [`Simulation::take_trace`].
pub const FIRST_DATAGRAM: u32 = 1 << 31;
