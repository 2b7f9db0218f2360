//! Applications on a host's connections. They are called on the host's thread as soon as an event occurs for
//! which they wait, as in the simulator.

use std::net::SocketAddr;
use std::sync::Arc;

use ackclock_engine::{AbortReason, Config, Connection, ConnectionEvent, Policies, Stats, User, UserIo as _};
use ackclock_units::{Bytes, Instant, Rng};

use crate::ledger::Ledger;

/// An application to run on a connection, and the connection's stack.
pub(crate) struct HostedApp {
    /// Its number, chosen by the owner.
    pub(crate) number: usize,
    pub(crate) config: Arc<Config>,
    pub(crate) policies: Policies,
    pub(crate) user: User<Ledger>,
    pub(crate) rng: Rng,
}

/// Returns the application for a connection accepted at this address, if any.
pub(crate) type AppFactory = Box<dyn FnMut(SocketAddr) -> Option<HostedApp> + Send>;

/// The result of an application.
pub(crate) struct AppReport {
    pub(crate) number: usize,
    pub(crate) ledger: Ledger,
    /// When its connection was opened.
    pub(crate) opened: Instant,
    /// When its connection was established.
    pub(crate) established: Option<Instant>,
    /// It is done and the peer has closed.
    pub(crate) finished: bool,
    pub(crate) failed: Option<AbortReason>,
    pub(crate) stats: Stats,
}

/// A running application.
pub(super) struct RunningApp {
    number: usize,
    user: User<Ledger>,
    rng: Rng,
    opened: Instant,
    established: Option<Instant>,
    failed: Option<AbortReason>,
}

/// Summary of a connection's events.
#[derive(Default)]
pub(super) struct EventSummary {
    /// True when there was any event.
    pub(super) any: bool,
    pub(super) established: bool,
    pub(super) aborted: Option<AbortReason>,
}

impl EventSummary {
    pub(super) fn take(&mut self, event: ConnectionEvent) {
        self.any = true;
        match event {
            ConnectionEvent::Established => self.established = true,
            ConnectionEvent::Aborted(reason) => self.aborted = Some(reason),
            _ => {}
        }
    }
}

impl RunningApp {
    pub(super) fn new(number: usize, user: User<Ledger>, rng: Rng, now: Instant) -> Self {
        Self { number, user, rng, opened: now, established: None, failed: None }
    }

    /// Runs the application. Returns true when it was called; there may then be more to do and to send.
    pub(super) fn run(
        &mut self,
        connection: &mut Connection,
        now: Instant,
        first: bool,
        summary: &mut EventSummary,
    ) -> bool {
        let called =
            self.user.run(connection, &mut self.rng, (now, self.opened), first, |event| summary.take(event));
        if summary.established {
            self.established.get_or_insert(now);
        }
        self.failed = self.failed.or(summary.aborted);
        if self.user.is_done() && connection.readable() > 0 {
            // After closing, keep reading until the peer closes.
            self.user.io.read(connection, now, Bytes::MAX);
        }
        called
    }

    /// The application's deadline.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.user.deadline().filter(|at| *at < Instant::FAR_FUTURE)
    }

    fn is_finished(&self, connection: &Connection) -> bool {
        self.user.is_done() && connection.at_end()
    }

    /// True when it has failed or finished.
    pub(super) fn is_over(&self, connection: &Connection) -> bool {
        self.failed.is_some() || self.is_finished(connection)
    }

    pub(super) fn report(self, connection: &Connection) -> AppReport {
        AppReport {
            number: self.number,
            finished: self.failed.is_none() && self.is_finished(connection),
            ledger: self.user.io,
            opened: self.opened,
            established: self.established,
            failed: self.failed,
            stats: connection.stats().clone(),
        }
    }
}
