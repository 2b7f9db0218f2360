//! Memory of a run, and its limit.
//!
//! Nothing is counted per packet. The run loop adds up the size of its lists from time to time, the more
//! often the nearer the limit is.

use ackclock_engine::{Connection, RareCounts};
use ackclock_trace::{Event, FlowRow};

use super::exchanges::Exchange;
use super::memory::{EVENT_IN_LISTS, EVENTS_PER_SLICE, SEGMENT_IN_LISTS};
use super::path::LinkState;
use super::state::Simulation;
use crate::endpoint::{Baseline, Counting, Flow, Port, Rare};
use crate::error::SimError;
use crate::event::INDEX;

/// Heap memory of an active flow beside its slot: its policies, its applications and small lists. Measured
/// (`docs/scenarios.md`, Limits).
pub(crate) const FLOW_HEAP: u64 = 1200;
/// All memory of an active flow with little in flight.
pub(crate) const FLOW: u64 = (size_of::<Option<Flow>>() + 2 * size_of::<Port>()) as u64 + FLOW_HEAP;
impl Simulation {
    /// Estimate of the memory held, bytes: packets, events, flows, queues, rows and traced events. The lists
    /// of the flows count as of when they were last added up.
    pub fn held_bytes(&self) -> u64 {
        self.fixed_bytes() + self.memory.lists
    }

    /// Number of traced events not taken yet.
    pub fn traced(&self) -> usize {
        self.trace.len()
    }

    /// Takes the events traced so far. Sources of datagrams are numbered from `FIRST_DATAGRAM` on, since
    /// the number of flows is not known yet.
    pub fn take_trace(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.trace)
    }

    /// Memory of everything except the lists of the flows.
    fn fixed_bytes(&self) -> u64 {
        let (flows, ports) = (
            self.flows.capacity() * size_of::<Option<Flow>>(),
            self.net.ports.capacity() * size_of::<Port>(),
        );
        let rows = self.rows.capacity() * size_of::<FlowRow>();
        let trace = self.trace.capacity() * size_of::<Event>();
        let links: u64 =
            self.net.links.iter().map(|l| l.link.held_bytes() + size_of::<LinkState>() as u64).sum();
        let barriers: u64 = self.flow_sources.iter().map(|s| s.barrier.held_bytes()).sum();
        let flow_heap = self.active_flows() * FLOW_HEAP;
        let series = self.series.as_ref().map_or(0, |s| s.held_bytes());
        (flows + ports + rows + trace) as u64
            + series
            + links
            + flow_heap
            + barriers
            + self.taken.held_bytes()
            + self.net.pool.held_bytes()
            + self.net.queue.held_bytes()
    }

    fn active_flows(&self) -> u64 {
        (self.flows.len() - self.free_flows.len()) as u64
    }

    fn flow_lists(&self) -> u64 {
        self.flows.iter().flatten().map(Flow::list_bytes).sum()
    }

    fn offered(&self) -> u64 {
        self.net.links.iter().map(|l| l.link.offered()).sum()
    }

    /// Fails when the run exceeds its memory limit. Returns how many events may run before the next check.
    pub(super) fn check_memory(&mut self) -> Result<u64, SimError> {
        if self.net.pool.slots() > u64::from(INDEX / 2) {
            return Err(SimError::TooMany("packets in flight", u64::from(INDEX / 2)));
        }
        if self.memory.limit == u64::MAX {
            return Ok(EVENTS_PER_SLICE);
        }
        let (fixed, offered) = (self.fixed_bytes(), self.offered());
        let since = (offered - self.memory.offered) * SEGMENT_IN_LISTS
            + (self.processed - self.memory.processed) * EVENT_IN_LISTS;
        let mut held = fixed + self.memory.lists + since;
        // This visits every flow. It happens so rarely that it takes about 1 % of the run.
        if held > self.memory.limit || since > (self.memory.limit / 64).max(self.flows.len() as u64 * 256) {
            // `since` is an upper bound: the flows may hold less.
            (self.memory.lists, self.memory.offered, self.memory.processed) =
                (self.flow_lists(), offered, self.processed);
            held = fixed + self.memory.lists;
        }
        if held > self.memory.limit {
            let series = self.series.as_ref().map_or(0, |s| s.len());
            let rows = (self.rows.len() + self.taken.len() + self.trace.len() + series) as u64;
            let packets = self.net.pool.alive().count() as u64;
            return Err(SimError::Memory {
                limit: self.memory.limit,
                at: self.net.now,
                flows: self.active_flows(),
                packets,
                rows,
            });
        }
        Ok(((self.memory.limit - held) / self.memory.burst).clamp(1, EVENTS_PER_SLICE))
    }
}

impl Flow {
    fn list_bytes(&self) -> u64 {
        let counting = match self.counting.as_deref() {
            Some(Counting::From(_)) => {
                size_of::<Baseline>() + size_of::<Counting>() + 2 * size_of::<RareCounts>()
            }
            Some(Counting::After(_)) => size_of::<Counting>(),
            None => 0,
        };
        let end = |end: &crate::endpoint::End| {
            let truth = end.sent.held_bytes()
                + end.arrived.held_bytes()
                + end.user.io.rare.as_ref().map_or(0, |rare| rare.held_bytes());
            let application = end.user.application.as_ref().map_or(0, |a| a.held_bytes());
            truth + application + end.connection.as_ref().map_or(0, Connection::list_bytes)
        };
        counting as u64 + self.ends.iter().map(end).sum::<u64>()
    }
}

impl Rare {
    fn held_bytes(&self) -> u64 {
        let exchanges = self.exchanges.capacity() * Exchange::HELD;
        (size_of::<Self>() + exchanges) as u64 + self.copied.held_bytes()
    }
}
