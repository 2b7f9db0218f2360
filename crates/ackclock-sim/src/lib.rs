//! A deterministic packet-level simulator around the engine: event queue, links, faults, network, flows, run
//! loop.
//!
//! A [`NetworkBuilder`] makes a [`Network`] of nodes and links; [`Sources`] say which flows and datagrams run
//! over it; a [`Simulation`] runs them and returns tables of the same form as real-time runs. A [`Link`] has
//! neither a clock nor events, so that the real-time emulator can use the same one.

mod endpoint;
mod error;
mod event;
pub mod fault;
mod flow;
mod lane;
mod link;
mod network;
mod packet;
mod queue;
mod routes;
pub mod scenario;
mod sim;
mod slab;
#[cfg(test)]
mod tests;
mod truth;
pub mod workload;

pub use error::SimError;
pub use fault::{Fault, FaultVerdict, PacketInfo, PacketKind};
pub use flow::{
    Access, Datagram, DatagramSource, DatagramSpec, FlowList, FlowSource, FlowSpec, GapReceiver, Sources,
    StackFactory,
};
pub use link::{
    Carrier, ConstantRate, DelayHistogram, Delivery, Elements, Jitter, Link, LinkCounters, LinkLabels,
    LinkSpec, MediumEnd, Offer, Opportunities, Passed, Policer, RecentSojourns, Schedule, SchedulePoint,
    Shaper, TokenBucket, Track, Transmitter, VaryingRate, element_declarations, rate_over, row_since,
};
pub use network::{LinkId, Network, NetworkBuilder, NodeId};
pub use sim::{
    Barrier, Exchange, FIRST_DATAGRAM, MeasuredSpan, Met, Progress, RunOptions, RunOutcome, Simulation, Taken,
};
pub use truth::Dropped;
