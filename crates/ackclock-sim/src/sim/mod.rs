//! The run: set-up, the loop over events, and its end.

mod books;
mod datagrams;
mod flows;
pub(crate) mod held;
mod measured;
mod path;

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;

use ackclock_trace::{Event, FlowRow, Label, LinkRow, Mask};
use ackclock_units::{Duration, Instant, Rng, mostly, seldom};

use self::held::Memory;
use self::path::Net;
use crate::endpoint::{Flow, FlowKind};
use crate::error::SimError;
use crate::event::{FLOW, INBOUND, INDEX, LINK, OUTBOUND, PACKET, POLL, WAKE, endpoint_of};
use crate::flow::{DatagramSource, FlowSeeds, FlowSource, FlowSpec, Sources};
use crate::lane::Lane;
use crate::link::Link;
use crate::network::Network;
use crate::queue::Entry;
use crate::routes::Routes;

/// From when on the counters of the tables count (M-U1: without the initial slow start).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Measured {
    /// From the beginning.
    #[default]
    Whole,
    /// From this moment, for flows and links.
    From(Instant),
    /// For each flow from the end of its so many-th loss episode; for links from the beginning.
    AfterEpisodes(u32),
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is traced of every flow.
    pub trace: Mask,
    /// Label of the run in every row.
    pub run: Label,
    /// Label of the stack under test in every row; where it is empty a flow's row names the stack of its
    /// sender.
    pub stack: Label,
    /// From when on is counted.
    pub measured: Measured,
    /// Memory that it may hold, bytes: a run that would hold more ends with an error.
    pub memory: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            trace: Mask::NONE,
            run: "".into(),
            stack: "".into(),
            measured: Measured::Whole,
            memory: u64::MAX,
        }
    }
}

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The simulated moment.
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
pub struct Outcome {
    /// One row for each flow and each datagram source, flows first, in the order in which they were started.
    pub flows: Vec<FlowRow>,
    /// One row for each link, in the order in which they were added.
    pub links: Vec<LinkRow>,
    /// Events, where the mask asked for them: connection `2 n` is the client of flow `n`, or the source of
    /// datagrams, `2 n + 1` its server.
    pub events: Vec<Event>,
    /// Events that the run loop processed.
    pub processed: u64,
}

/// A run: a value without globals; two of them share nothing.
pub struct Simulation {
    net: Net,
    flows: Vec<Option<Flow>>,
    free_flows: Vec<u32>,
    flow_sources: Vec<FlowPlace>,
    datagrams: Vec<DatagramPlace>,
    seed: u64,
    seeds: FlowSeeds,
    options: Options,
    rows: Vec<FlowRow>,
    trace: Vec<Event>,
    started: u32,
    ended: u64,
    processed: u64,
    memory: Memory,
    /// The links as they were when counting began, once it has with [`Measured::From`].
    links_before: Option<Vec<LinkRow>>,
}

/// A link with what the run keeps beside it.
struct LinkPlace {
    link: Link,
    lane: Lane,
    /// Moment of the pending poll, for a link that must be polled.
    poll: Instant,
    /// Packets that have left it at its far end.
    delivered: u64,
    delivered_corrupt: u64,
    /// Data packets that repeat bytes which an earlier copy carried over this link, and payload that does
    /// not.
    repeated: u64,
    unique_bytes: u64,
}

struct FlowPlace {
    source: Box<dyn FlowSource>,
    rng: Rng,
    next: Option<FlowSpec>,
    /// The kind of its latest flow.
    kind: Option<Arc<FlowKind>>,
    /// It has said that it has no flow for now.
    idle: bool,
}

struct DatagramPlace {
    source: Box<dyn DatagramSource>,
    rng: Rng,
    next_bytes: u32,
    flow: u32,
    /// Size of the receiver's reports, and the number that it expects next.
    reports: Option<u32>,
    expected: u64,
}

/// Events between two calls of `progress` at most: some hundredths of a second.
pub(crate) const EVENTS_PER_SLICE: u64 = 100_000;

/// Marks the connection of a traced datagram until the flows have been counted.
const TRACED_DATAGRAMS: u32 = FIRST_DATAGRAM;
/// The number of the first connection that stands for a source of datagrams in what
/// [`Simulation::take_trace`] gives.
pub const FIRST_DATAGRAM: u32 = 1 << 31;

impl Simulation {
    /// Sets a run up. All random streams come from `seed`.
    ///
    /// # Errors
    /// When a datagram source has no path. A flow without a path stops the run when it starts.
    pub fn new(network: Network, sources: Sources, seed: u64, options: Options) -> Result<Self, SimError> {
        let (routes, specs) = Routes::new(network);
        let place = |(i, spec)| LinkPlace {
            link: Link::new(spec, seed, i as u64),
            lane: Lane::EMPTY,
            poll: Instant::FAR_FUTURE,
            delivered: 0,
            delivered_corrupt: 0,
            repeated: 0,
            unique_bytes: 0,
        };
        let flow_place = |(i, source)| FlowPlace {
            source,
            rng: Rng::stream(seed, "flows", i as u64),
            next: None,
            kind: None,
            idle: false,
        };
        let mut sim = Self {
            net: Net::new(specs.into_iter().enumerate().map(place).collect(), routes),
            flows: Vec::new(),
            free_flows: Vec::new(),
            flow_sources: sources.flows.into_iter().enumerate().map(flow_place).collect(),
            datagrams: Vec::new(),
            seed,
            seeds: FlowSeeds::new(seed),
            memory: Memory::new(options.memory),
            options,
            rows: Vec::new(),
            trace: Vec::new(),
            started: 0,
            ended: 0,
            processed: 0,
            links_before: None,
        };
        for spec in sources.datagrams {
            sim.add_datagrams(spec)?;
        }
        for i in 0..sim.flow_sources.len() {
            sim.ask_source(i as u32);
        }
        sim.check()?;
        Ok(sim)
    }

    /// Runs until the moment `end` (its events included), or until nothing is left to happen.
    ///
    /// # Errors
    /// When a flow has no path, a source runs backwards, or conservation is violated.
    pub fn run_until(&mut self, end: Instant) -> Result<(), SimError> {
        self.run_some(end, u64::MAX).map(|_| ())
    }

    /// The same for `most` events at most. Returns false when more are left to happen until `end`.
    pub(crate) fn run_some(&mut self, end: Instant, most: u64) -> Result<bool, SimError> {
        if let Some(from) = self.counting_begins().filter(|from| *from <= end) {
            if !self.run_until_event(from, most)? {
                return Ok(false);
            }
            self.begin_counting();
        }
        self.run_until_event(end, most)
    }

    fn run_until_event(&mut self, end: Instant, most: u64) -> Result<bool, SimError> {
        self.check()?;
        let mut left = most;
        while left > 0 {
            let now = left.min(self.check_memory()?);
            if self.run_unchecked(end, now)? {
                return Ok(true);
            }
            left -= now;
        }
        Ok(false)
    }

    /// The same without a look at the memory.
    fn run_unchecked(&mut self, end: Instant, most: u64) -> Result<bool, SimError> {
        for _ in 0..most {
            let Some(Entry { at, what, .. }) = self.net.queue.pop_until(end) else {
                self.net.now = self.net.now.max(end);
                return Ok(true);
            };
            self.net.now = at;
            if seldom(self.flows.len() > MANY_FLOWS) {
                self.look_ahead();
            }
            self.handle(what);
            if self.net.fault.is_some() {
                return self.check().map(|()| false);
            }
        }
        Ok(false)
    }

    /// The same in slices of `slice` (and of some 100 000 events, so that a caller is never left waiting),
    /// telling `progress` after each; stops early when it says so. Returns false when it was stopped.
    ///
    /// # Errors
    /// As [`Simulation::run_until`].
    pub fn run(
        &mut self,
        end: Instant,
        slice: Duration,
        mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<bool, SimError> {
        let slice = slice.max(Duration::from_nanos(1));
        let mut until = self.net.now;
        while until < end {
            until = (until + slice).min(end);
            loop {
                let through = self.run_some(until, EVENTS_PER_SLICE)?;
                if progress(&self.progress()).is_break() {
                    return Ok(false);
                }
                if through {
                    break;
                }
            }
        }
        Ok(true)
    }

    /// True when nothing is left to happen.
    pub fn is_done(&mut self) -> bool {
        self.net.queue.peek().is_none()
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        let data_packets = self.net.links.iter().map(|l| l.link.served_data()).sum();
        Progress {
            now: self.net.now,
            flows_started: u64::from(self.started),
            flows_ended: self.ended,
            events: self.processed,
            data_packets,
        }
    }

    /// The table of links as it stands now; the run goes on.
    pub fn links(&mut self) -> Vec<LinkRow> {
        let behind = self.behind_links();
        (0..).zip(behind).map(|(i, behind)| self.link_row(i, behind)).collect()
    }

    /// Ends the run: checks that packets and bytes were conserved, and gives the tables.
    ///
    /// # Errors
    /// When conservation is violated, or the run had been stopped by an error before.
    pub fn finish(self) -> Result<Outcome, SimError> {
        self.check()?;
        self.close_books()
    }

    fn check(&self) -> Result<(), SimError> {
        self.net.fault.clone().map_or(Ok(()), Err)
    }

    /// With many flows, what an event needs is in no near cache. Reading it a few events ahead, without
    /// waiting for the answer, lets the processor fetch it while it works on the events in between. Changes
    /// nothing.
    #[inline(never)]
    fn look_ahead(&self) {
        if let Some(end) = self.net.queue.glance(3).and_then(endpoint_of) {
            black_box(self.net.ports[end].inbound.first());
        }
        if let Some(end) = self.net.queue.glance(2).and_then(endpoint_of) {
            black_box(self.net.ports[end ^ 1].route);
            self.net.pool.glance(self.net.ports[end].inbound.first());
            if let Some(flow) = &self.flows[end / 2] {
                black_box((flow.ended, flow.ends[end & 1].sent.in_flight));
            }
        }
        if let Some(end) = self.net.queue.glance(1).and_then(endpoint_of) {
            self.net.pool.glance_behind(self.net.ports[end].inbound.first());
            if let Some(flow) = &self.flows[end / 2] {
                flow.ends[end & 1].glance();
            }
        }
    }

    #[inline(always)]
    fn handle(&mut self, what: u32) {
        self.processed += 1;
        let i = what & INDEX;
        match what & !INDEX {
            INBOUND | OUTBOUND | LINK => return self.lane(what),
            PACKET => self.arrive(i),
            WAKE => self.wake(i),
            FLOW => self.start_next(i),
            POLL => self.net.poll_link(i),
            _ => self.send_datagram(i),
        }
        self.after_packet();
    }

    /// The first packet of a lane arrives, and those behind it that arrive at the same moment before anything
    /// else happens.
    #[inline(always)]
    fn lane(&mut self, what: u32) {
        loop {
            let (id, next) = self.net.take(what);
            if mostly(what & !INDEX == INBOUND) || !self.net.has_links_ahead(id) {
                self.deliver(id);
            } else {
                self.net.forward(id);
            }
            self.after_packet();
            let Some(order) = next else { return };
            if self.net.fault.is_some() || !self.net.comes_first(order, what) {
                return;
            }
        }
    }

    #[inline]
    fn after_packet(&mut self) {
        if !self.net.lost.is_empty() || !self.net.copied.is_empty() {
            self.tell_flows();
        }
    }

    /// A packet reaches its next link or its endpoint.
    #[inline(never)]
    fn arrive(&mut self, id: u32) {
        if self.net.has_links_ahead(id) { self.net.forward(id) } else { self.deliver(id) }
    }
}

/// From so many flows on it pays to look ahead: below, they fit into the second-level cache.
const MANY_FLOWS: usize = 300;
