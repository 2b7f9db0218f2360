//! What the two kinds of ends of a run have in common.

use std::net::SocketAddr;

use ackclock_units::{Duration, Instant};

use super::report::FlowEnd;
use super::stamping::Stamping;
use crate::OptionSeen;
use crate::linux::wait::Waker;
use crate::sockets::RunControl;

/// Which end it is.
pub(super) enum SideRole {
    /// Opens connection n to host n at that time, from the run's beginning.
    Opens { from: SocketAddr, port: u16, starts: Vec<Instant> },
    /// Accepts them.
    Accepts { at: SocketAddr },
}

impl SideRole {
    /// When connection `n` is to be opened here.
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

/// What a side saw.
pub(super) struct SideReport {
    pub(super) ends: Vec<FlowEnd>,
    /// When each connection was opened, from the run's beginning, and how long it took until it was
    /// established.
    pub(super) opened: Vec<(Option<Duration>, Option<Duration>)>,
    pub(super) options: Vec<OptionSeen>,
    pub(super) stamping: Stamping,
}

impl SideReport {
    /// Before any of `n` connections is opened.
    pub(super) fn unopened(n: usize) -> Self {
        Self {
            ends: vec![FlowEnd::UNOPENED; n],
            opened: vec![(None, None); n],
            options: Vec::new(),
            stamping: Stamping::default(),
        }
    }
}

/// How long the other end may take to end once this one has.
pub(super) const PATIENCE: Duration = Duration::from_millis(500);
