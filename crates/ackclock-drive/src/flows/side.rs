//! Role and results of one end of a run.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use ackclock_units::{Duration, Instant};

use super::report::FlowEnd;
use super::snapshot::Taken;
use super::stamping::Stamping;
use crate::OptionSeen;
use crate::linux::wait::Waker;
use crate::sockets::RunControl;

/// Addresses of a connection's opening end, and the place of its socket: a position among those of its side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Opening {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) place: usize,
}

/// The role of one end.
pub(crate) enum SideRole {
    /// Opens connection n by `openings[n]` at its start, relative to the start of the run.
    Opens { starts: Vec<Instant>, openings: Vec<Opening> },
    /// Accepts all connections at these addresses, each of a place. A connection is known by its own address and
    /// the peer's.
    Accepts { at: Vec<(SocketAddr, usize)>, numbers: HashMap<(IpAddr, IpAddr), usize> },
}

impl SideRole {
    /// When this end opens connection `n`; `None` for an end that accepts.
    pub(super) fn start(&self, n: usize, zero: Instant) -> Option<Instant> {
        match self {
            Self::Opens { starts, .. } => starts.get(n).map(|at| zero + at.since(Instant::ZERO)),
            Self::Accepts { .. } => None,
        }
    }

    /// 0 for the end that opens, 1 for the one that accepts.
    pub(super) fn number(&self) -> usize {
        usize::from(matches!(self, Self::Accepts { .. }))
    }

    pub(super) fn waker<'a>(&self, control: &'a RunControl) -> &'a Waker {
        match self {
            Self::Opens { .. } => &control.client_waker,
            Self::Accepts { .. } => &control.server_waker,
        }
    }
}

/// The results of one end.
pub(crate) struct SideReport {
    pub(crate) ends: Vec<FlowEnd>,
    /// When each connection was opened, since the start of the run, and the time until it was established.
    pub(crate) opened: Vec<(Option<Duration>, Option<Duration>)>,
    /// The options of each place's sockets.
    pub(crate) options: Vec<Vec<OptionSeen>>,
    pub(crate) stamping: Stamping,
    /// What was seen at the moments asked for.
    pub(crate) taken: Taken,
    /// For each source of flows, how often its barrier has opened, and for how many flows the last time.
    pub(crate) rounds: Vec<(u32, u64)>,
}

impl SideReport {
    /// The results before any of `n` connections is opened.
    pub(super) fn unopened(n: usize) -> Self {
        Self {
            ends: vec![FlowEnd::UNOPENED; n],
            opened: vec![(None, None); n],
            options: Vec::new(),
            stamping: Stamping::default(),
            taken: Taken::default(),
            rounds: Vec::new(),
        }
    }
}

/// Time limit for an end that accepts to finish after the other end has.
pub(super) const PATIENCE: Duration = Duration::from_millis(500);
