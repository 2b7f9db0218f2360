//! A simulation run: set-up, the event loop, the end.

mod barrier;
mod conservation;
mod datagrams;
mod exchanges;
mod flows;
pub(crate) mod held;
mod measured;
mod memory;
mod met;
mod options;
mod path;
mod rows;
mod sending;
mod series;
mod state;

use std::hint::black_box;
use std::ops::ControlFlow;

use ackclock_trace::LinkRow;
use ackclock_units::{Duration, Instant, Rng, mostly, seldom};

pub use self::barrier::Barrier;
pub use self::exchanges::{Exchange, Taken};
pub(crate) use self::memory::EVENTS_PER_SLICE;
use self::memory::Memory;
pub use self::met::Met;
pub use self::options::{MeasuredSpan, Progress, RunOptions, RunOutcome};
use self::path::{LinkState, Net};
use self::series::Series;
use self::state::FlowSourceState;
pub use self::state::{FIRST_DATAGRAM, Simulation};
use crate::error::SimError;
use crate::event::{AT_BARRIER, FLOW, INBOUND, INDEX, LINK, OUTBOUND, PACKET, POLL, WAKE, endpoint_of};
use crate::flow::{FlowSeeds, FlowSource, Sources};
use crate::lane::Lane;
use crate::link::Link;
use crate::network::Network;
use crate::queue::PendingEvent;
use crate::routes::Routes;

impl Simulation {
    /// Sets up a run. All random streams derive from `seed`.
    ///
    /// # Errors
    /// When a datagram source has no path. A flow without a path stops the run when it starts.
    pub fn new(network: Network, sources: Sources, seed: u64, options: RunOptions) -> Result<Self, SimError> {
        let (routes, specs) = Routes::new(network);
        let place = |(i, spec)| LinkState {
            link: Link::new(spec, seed, i as u64),
            lane: Lane::EMPTY,
            poll: Instant::FAR_FUTURE,
            delivered: 0,
            delivered_corrupt: 0,
            repeated: 0,
            unique_bytes: 0,
        };
        let flow_place = |(i, source): (usize, Box<dyn FlowSource>)| FlowSourceState {
            barrier: Barrier::of(source.members()),
            source,
            rng: Rng::stream(seed, "flows", i as u64),
            next: None,
            kind: None,
            idle: false,
        };
        let mut links: Vec<_> = specs.into_iter().enumerate().map(place).collect();
        let series = options.series.filter(|interval| !interval.is_zero());
        if series.is_some() {
            links.iter_mut().for_each(|place| place.link.measure_sojourns());
        }
        let mut sim = Self {
            series: series.map(|interval| Box::new(Series::new(interval, links.len()))),
            net: Net::new(links, routes),
            flows: Vec::new(),
            free_flows: Vec::new(),
            flow_sources: sources.flows.into_iter().enumerate().map(flow_place).collect(),
            datagrams: Vec::new(),
            seed,
            seeds: FlowSeeds::new(seed),
            memory: Memory::new(options.memory),
            options,
            rows: Vec::new(),
            taken: Taken::default(),
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
            sim.schedule_flow(i as u32);
        }
        sim.check()?;
        Ok(sim)
    }

    /// Runs until `end`, events at `end` included, or until no event is pending.
    ///
    /// # Errors
    /// When a flow has no path, a source runs backwards, or conservation is violated.
    pub fn run_until(&mut self, end: Instant) -> Result<(), SimError> {
        self.run_some(end, u64::MAX).map(|_| ())
    }

    /// As [`Simulation::run_until`], for at most `most` events. Returns false when more events are pending up
    /// to `end`.
    pub(crate) fn run_some(&mut self, end: Instant, most: u64) -> Result<bool, SimError> {
        let begun = self.processed;
        let left = |sim: &Self| most.saturating_sub(sim.processed - begun);
        while let Some(at) = self.series_due().filter(|at| *at <= end) {
            if !self.run_counting(at, left(self))? {
                return Ok(false);
            }
            self.add_series_rows();
        }
        self.run_counting(end, left(self))
    }

    /// As [`Simulation::run_some`], in a part of the run in which no rows are due.
    fn run_counting(&mut self, end: Instant, most: u64) -> Result<bool, SimError> {
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

    /// Runs at most `most` events without checking the memory.
    fn run_unchecked(&mut self, end: Instant, most: u64) -> Result<bool, SimError> {
        for _ in 0..most {
            let Some(PendingEvent { at, what, .. }) = self.net.queue.pop_until(end) else {
                self.net.now = self.net.now.max(end);
                return Ok(true);
            };
            self.net.now = at;
            if seldom(self.flows.len() > MANY_FLOWS) {
                self.prefetch();
            }
            self.handle(what);
            if self.net.error.is_some() {
                return self.check().map(|()| false);
            }
        }
        Ok(false)
    }

    /// As [`Simulation::run_until`], in slices of `slice` and of at most 100 000 events. Calls `progress`
    /// after each slice, and stops early when it returns [`ControlFlow::Break`]. Returns false when it was
    /// stopped.
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
                let complete = self.run_some(until, EVENTS_PER_SLICE)?;
                if progress(&self.progress()).is_break() {
                    return Ok(false);
                }
                if complete {
                    break;
                }
            }
        }
        Ok(true)
    }

    /// True when no event is pending.
    pub fn is_done(&mut self) -> bool {
        self.net.queue.peek().is_none()
    }

    /// The state of the run.
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

    /// The table of links as of now; the run can continue.
    pub fn links(&mut self) -> Vec<LinkRow> {
        let behind = self.behind_links();
        (0..).zip(behind).map(|(i, behind)| self.link_row(i, behind)).collect()
    }

    /// Ends the run: checks that packets and bytes were conserved, and returns the tables.
    ///
    /// # Errors
    /// When conservation is violated, or the run had been stopped by an error before.
    pub fn finish(mut self) -> Result<RunOutcome, SimError> {
        self.check()?;
        self.finish_series();
        self.tables()
    }

    fn check(&self) -> Result<(), SimError> {
        self.net.error.clone().map_or(Ok(()), Err)
    }

    /// With many flows, the state that an event needs is not in the nearer caches. This reads it a few events
    /// ahead without using the result, so that the processor can load it while it works on the events in
    /// between. Has no effect on results.
    #[inline(never)]
    fn prefetch(&self) {
        if let Some(end) = self.net.queue.upcoming(3).and_then(endpoint_of) {
            black_box(self.net.ports[end].inbound.first());
        }
        if let Some(end) = self.net.queue.upcoming(2).and_then(endpoint_of) {
            black_box(self.net.ports[end ^ 1].route);
            self.net.pool.prefetch(self.net.ports[end].inbound.first());
            if let Some(flow) = &self.flows[end / 2] {
                black_box((flow.ended, flow.ends[end & 1].sent.in_flight));
            }
        }
        if let Some(end) = self.net.queue.upcoming(1).and_then(endpoint_of) {
            self.net.pool.prefetch_next(self.net.ports[end].inbound.first());
            if let Some(flow) = &self.flows[end / 2] {
                flow.ends[end & 1].prefetch();
            }
        }
    }

    #[inline(always)]
    fn handle(&mut self, what: u32) {
        self.processed += 1;
        let i = what & INDEX;
        match what & !INDEX {
            INBOUND | OUTBOUND | LINK | WAKE => return self.lane(what),
            PACKET => self.arrive(i),
            FLOW if seldom(i & AT_BARRIER != 0) => self.at_barrier(i & !AT_BARRIER),
            FLOW => self.start_next(i),
            POLL => self.net.poll_link(i),
            _ => self.send_datagram(i),
        }
        self.after_packet();
    }

    /// Handles the first packet of a lane, and those after it that arrive at the same time and before any
    /// other event; or a wake event.
    #[inline(always)]
    fn lane(&mut self, what: u32) {
        loop {
            let wakes = what & !INDEX == WAKE;
            let (id, next) = if seldom(wakes) { (what & INDEX, None) } else { self.net.take(what) };
            if mostly(what & !INDEX == INBOUND) || wakes || !self.net.has_links_ahead(id) {
                self.deliver(id, wakes);
            } else {
                self.net.forward(id);
            }
            self.after_packet();
            let Some(order) = next else { return };
            if self.net.error.is_some() || !self.net.comes_first(order, what) {
                return;
            }
        }
    }

    #[inline]
    fn after_packet(&mut self) {
        if !self.net.lost.is_empty() || !self.net.copied.is_empty() {
            self.notify_flows();
        }
    }

    /// Handles a packet that has reached its next link or its endpoint.
    #[inline(never)]
    fn arrive(&mut self, id: u32) {
        if self.net.has_links_ahead(id) { self.net.forward(id) } else { self.deliver(id, false) }
    }
}

/// Prefetching pays off from this many flows on; fewer fit into the second-level cache.
const MANY_FLOWS: usize = 300;
