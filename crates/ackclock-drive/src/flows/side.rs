//! Role and results of one end of a run.

use std::net::SocketAddr;

use ackclock_units::{Duration, Instant};

use super::report::FlowEnd;
use super::stamping::Stamping;
use crate::OptionSeen;
use crate::linux::wait::Waker;
use crate::sockets::RunControl;

/// The role of one end.
pub(super) enum SideRole {
    /// Opens connection n to host n at its start, relative to the start of the run.
    Opens { from: SocketAddr, port: u16, starts: Vec<Instant> },
    /// Accepts all connections.
    Accepts { at: SocketAddr },
}

impl SideRole {
    /// When this end opens connection `n`; `None` for an end that accepts.
    pub(super) fn start(&self, n: usize, zero: Instant) -> Option<Instant> {
        match self {
            Self::Opens { starts, .. } => starts.get(n).map(|at| zero + at.since(Instant::ZERO)),
            Self::Accepts { .. } => None,
        }
    }

    pub(super) fn waker<'a>(&self, control: &'a RunControl) -> &'a Waker {
        match self {
            Self::Opens { .. } => &control.client_waker,
            Self::Accepts { .. } => &control.server_waker,
        }
    }
}

/// The results of one end.
pub(super) struct SideReport {
    pub(super) ends: Vec<FlowEnd>,
    /// When each connection was opened, since the start of the run, and the time until it was established.
    pub(super) opened: Vec<(Option<Duration>, Option<Duration>)>,
    pub(super) options: Vec<OptionSeen>,
    pub(super) stamping: Stamping,
}

impl SideReport {
    /// The results before any of `n` connections is opened.
    pub(super) fn unopened(n: usize) -> Self {
        Self {
            ends: vec![FlowEnd::UNOPENED; n],
            opened: vec![(None, None); n],
            options: Vec::new(),
            stamping: Stamping::default(),
        }
    }
}

/// Time limit for an end that accepts to finish after the other end has.
pub(super) const PATIENCE: Duration = Duration::from_millis(500);
