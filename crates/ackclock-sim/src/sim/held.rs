//! What a run holds in memory, and the end of one that would hold more than it may.
//!
//! Nothing is counted as packets pass. The run loop stops now and then to add up what its lists take; it
//! stops the more often the less is left.

use ackclock_engine::{Connection, RareCounts};
use ackclock_trace::{Event, FlowRow};

use super::{EVENTS_PER_SLICE, LinkPlace, Simulation};
use crate::endpoint::{Before, Counting, Flow, Port, Rare};
use crate::error::SimError;
use crate::event::INDEX;

/// What a flow under way takes beside its place: its policies, its applications and small lists. Measured
/// (`docs/scenarios.md`, Limits).
pub(crate) const FLOW_HEAP: u64 = 1200;
/// What a flow under way takes in all when little of it is in flight.
pub(crate) const FLOW: u64 = (size_of::<Option<Flow>>() + 2 * size_of::<Port>()) as u64 + FLOW_HEAP;
/// What a segment that was sent may add to the lists of its flow, in the engine and in the books of the
/// world.
const SEGMENT_IN_LISTS: u64 = 64;
/// What an event may add to an application's lists.
const EVENT_IN_LISTS: u64 = 24;
/// What a packet takes, its options and its place in a queue included.
const PACKET: u64 = 120;

/// What a run may hold, and how it stood when the flows were looked at last.
#[derive(Debug)]
pub(super) struct Memory {
    limit: u64,
    /// What the lists of the flows took then.
    lists: u64,
    /// Packets that had been offered to links, and events processed.
    offered: u64,
    processed: u64,
    /// What a single event may add: a whole window of the widest flow so far.
    burst: u64,
}

impl Memory {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, lists: 0, offered: 0, processed: 0, burst: PACKET }
    }

    /// A flow begins whose ends have these stacks: a single event may let it send a whole window.
    pub(super) fn begins(&mut self, segments: u64) {
        self.burst = self.burst.max(segments.saturating_mul(PACKET + SEGMENT_IN_LISTS));
    }
}

impl Simulation {
    /// Memory that it holds, bytes, about: packets, events, flows, queues, rows and what was traced. The
    /// lists of the flows are as they were when they were looked at last.
    pub fn held_bytes(&self) -> u64 {
        self.places() + self.memory.lists
    }

    /// Events traced and not taken.
    pub fn traced(&self) -> usize {
        self.trace.len()
    }

    /// Takes what was traced so far. Sources of datagrams have numbers of their own there, from
    /// [`FIRST_DATAGRAM`] on, since it is not known how many flows there will be before them.
    pub fn take_trace(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.trace)
    }

    /// What all but the lists of the flows take.
    fn places(&self) -> u64 {
        let (flows, ports) = (
            self.flows.capacity() * size_of::<Option<Flow>>(),
            self.net.ports.capacity() * size_of::<Port>(),
        );
        let (rows, trace) =
            (self.rows.capacity() * size_of::<FlowRow>(), self.trace.capacity() * size_of::<Event>());
        let links: u64 =
            self.net.links.iter().map(|l| l.link.held_bytes() + size_of::<LinkPlace>() as u64).sum();
        let under_way = self.flows_under_way() * FLOW_HEAP;
        (flows + ports + rows + trace) as u64
            + links
            + under_way
            + self.net.pool.held_bytes()
            + self.net.queue.held_bytes()
    }

    fn flows_under_way(&self) -> u64 {
        (self.flows.len() - self.free_flows.len()) as u64
    }

    fn flow_lists(&self) -> u64 {
        self.flows.iter().flatten().map(Flow::list_bytes).sum()
    }

    fn offered(&self) -> u64 {
        self.net.links.iter().map(|l| l.link.offered()).sum()
    }

    /// Ends the run if it holds more than it may, and says how many events may pass until it must be asked
    /// again.
    pub(super) fn check_memory(&mut self) -> Result<u64, SimError> {
        if self.net.pool.places() > u64::from(INDEX / 2) {
            return Err(SimError::TooMany("packets under way", u64::from(INDEX / 2)));
        }
        if self.memory.limit == u64::MAX {
            return Ok(EVENTS_PER_SLICE);
        }
        let (places, offered) = (self.places(), self.offered());
        let since = (offered - self.memory.offered) * SEGMENT_IN_LISTS
            + (self.processed - self.memory.processed) * EVENT_IN_LISTS;
        let mut held = places + self.memory.lists + since;
        // A look at every flow, so seldom that it costs a hundredth of the run.
        if held > self.memory.limit || since > (self.memory.limit / 64).max(self.flows.len() as u64 * 256) {
            // The flows may hold less than what was sent could have made them hold.
            (self.memory.lists, self.memory.offered, self.memory.processed) =
                (self.flow_lists(), offered, self.processed);
            held = places + self.memory.lists;
        }
        if held > self.memory.limit {
            let rows = (self.rows.len() + self.trace.len()) as u64;
            let packets = self.net.pool.alive().count() as u64;
            return Err(SimError::Memory {
                limit: self.memory.limit,
                at: self.net.now,
                flows: self.flows_under_way(),
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
                size_of::<Before>() + size_of::<Counting>() + 2 * size_of::<RareCounts>()
            }
            Some(Counting::After(_)) => size_of::<Counting>(),
            None => 0,
        };
        let end = |end: &crate::endpoint::End| {
            let books = end.sent.held_bytes()
                + end.arrived.held_bytes()
                + end.user.io.rare.as_ref().map_or(0, |rare| rare.held_bytes());
            let application = end.user.application.as_ref().map_or(0, |a| a.held_bytes());
            books + application + end.connection.as_ref().map_or(0, Connection::list_bytes)
        };
        counting as u64 + self.ends.iter().map(end).sum::<u64>()
    }
}

impl Rare {
    fn held_bytes(&self) -> u64 {
        size_of::<Self>() as u64 + self.copied.held_bytes()
    }
}
