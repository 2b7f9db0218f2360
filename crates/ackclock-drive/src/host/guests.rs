//! Applications of the registry above a host's connections. They are called on the host's own thread as soon
//! as something has happened that they wait for, as in the simulator.

use std::net::SocketAddr;
use std::sync::Arc;

use ackclock_engine::{AbortReason, Config, Connection, ConnectionEvent, Policies, Stats, User, UserIo as _};
use ackclock_units::{Bytes, Instant, Rng};

use crate::ledger::Ledger;

/// An application that is to be above a connection, and the connection's stack.
pub(crate) struct Guest {
    /// By which its owner knows it.
    pub(crate) number: usize,
    pub(crate) config: Arc<Config>,
    pub(crate) policies: Policies,
    pub(crate) user: User<Ledger>,
    pub(crate) rng: Rng,
}

/// Which guest is above a connection that is accepted at this address, if one is.
pub(crate) type Service = Box<dyn FnMut(SocketAddr) -> Option<Guest> + Send>;

/// What became of a guest.
pub(crate) struct Left {
    pub(crate) number: usize,
    pub(crate) ledger: Ledger,
    /// When its connection was opened, and when it was established.
    pub(crate) opened: Instant,
    pub(crate) established: Option<Instant>,
    /// It is done and the peer has closed.
    pub(crate) finished: bool,
    pub(crate) failed: Option<AbortReason>,
    pub(crate) stats: Stats,
}

/// An application above a connection of the table.
pub(super) struct Seated {
    number: usize,
    user: User<Ledger>,
    rng: Rng,
    opened: Instant,
    established: Option<Instant>,
    failed: Option<AbortReason>,
}

/// What a connection has told.
#[derive(Default)]
pub(super) struct News {
    /// Anything at all.
    pub(super) any: bool,
    pub(super) established: bool,
    pub(super) aborted: Option<AbortReason>,
}

impl News {
    pub(super) fn take(&mut self, event: ConnectionEvent) {
        self.any = true;
        match event {
            ConnectionEvent::Established => self.established = true,
            ConnectionEvent::Aborted(reason) => self.aborted = Some(reason),
            _ => {}
        }
    }
}

impl Seated {
    pub(super) fn new(number: usize, user: User<Ledger>, rng: Rng, now: Instant) -> Self {
        Self { number, user, rng, opened: now, established: None, failed: None }
    }

    /// Lets the application do what there is to do. True when it was called: then there may be more, and more
    /// to send.
    pub(super) fn run(
        &mut self,
        connection: &mut Connection,
        now: Instant,
        first: bool,
        news: &mut News,
    ) -> bool {
        let called =
            self.user.run(connection, &mut self.rng, (now, self.opened), first, |event| news.take(event));
        if news.established {
            self.established.get_or_insert(now);
        }
        self.failed = self.failed.or(news.aborted);
        if self.user.is_done() && connection.readable() > 0 {
            // Whoever has closed still waits for the peer to do so.
            self.user.io.read(connection, now, Bytes::MAX);
        }
        called
    }

    /// When the application is to be called, whatever happens.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.user.deadline().filter(|at| *at < Instant::FAR_FUTURE)
    }

    fn is_finished(&self, connection: &Connection) -> bool {
        self.user.is_done() && connection.at_end()
    }

    /// True when nothing more is to come.
    pub(super) fn is_over(&self, connection: &Connection) -> bool {
        self.failed.is_some() || self.is_finished(connection)
    }

    pub(super) fn leave(self, connection: &Connection) -> Left {
        Left {
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
