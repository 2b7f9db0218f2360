//! The user of a connection (RFC 9293 §3.9): an application above it, in whatever world. When it is called,
//! and what it sees. The connection may be the engine's, or a kernel's behind a [`Transport`].

use ackclock_policy::{AppIo, Application, Wake};
use ackclock_units::{Bytes, Duration, Instant, Rng, seldom};

use crate::{Connection, ConnectionEvent};

/// An application above a connection.
#[derive(Debug)]
pub struct User<B> {
    /// `None` where nobody is.
    pub application: Option<Box<dyn Application>>,
    /// What it waits for; `None` before the connection is established.
    wake: Option<Wake>,
    /// What its world does for it.
    pub books: B,
    /// Bytes acknowledged when it was called last.
    seen_acked: Bytes,
}

/// A connection as its user sees it: the engine's, or a kernel's socket.
pub trait Transport {
    /// Bytes that have arrived and can be read.
    fn readable(&self) -> Bytes;
    /// Bytes that it would take.
    fn writable(&self) -> Bytes;
    /// True when it takes more than it has just taken. False also where an event tells when it does.
    fn takes_more(&self) -> bool;
    /// Bytes written and not acknowledged.
    fn unacked(&self) -> Bytes;
    /// True when the peer is known to have what was written from `from` to `to`.
    fn has_arrived(&self, from: Bytes, to: Bytes) -> bool;
    /// Bytes that its window lets it send now.
    fn room(&mut self, now: Instant) -> Bytes;
    /// True when the peer has closed and everything was read.
    fn at_end(&self) -> bool;
    /// Ends the writing side.
    fn close(&mut self, now: Instant);
}

/// Keeps the response times of a connection's user.
pub trait ResponseTimes {
    /// A transaction begins.
    fn begin(&mut self, at: Instant);
    /// When the one that runs began, if one does: it runs no more.
    fn begun(&mut self) -> Option<Instant>;
    /// One has taken from `since` until `now`.
    fn record(&mut self, since: Instant, now: Instant);
}

/// What a world does for the user of a transport: moves its bytes, and keeps its response times.
pub trait Books<T>: ResponseTimes {
    /// Takes up to `n` bytes from the transport; returns how many there were.
    fn read(&mut self, transport: &mut T, now: Instant, n: Bytes) -> Bytes;
    /// Writes up to `n` bytes; returns how many were taken.
    fn write(&mut self, transport: &mut T, now: Instant, n: Bytes) -> Bytes;
}

/// When an application is called, and for what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The present moment.
    pub now: Instant,
    /// When what it is called for happened: for an acknowledgment that a kernel has stamped, before `now`.
    pub at: Instant,
    /// When the connection was opened, if this is the first call: a transaction that begins then has waited
    /// for the handshake too.
    pub opened: Option<Instant>,
}

/// An application that asks again and again for what it already has waits for the next event after so many
/// calls.
const CALLS_AT_ONCE: u32 = 64;

impl<B: Default> Default for User<B> {
    fn default() -> Self {
        Self { application: None, wake: None, books: B::default(), seen_acked: 0 }
    }
}

impl<B> User<B> {
    /// An application that is called once its connection is established.
    pub fn new(application: Box<dyn Application>, books: B) -> Self {
        Self { application: Some(application), wake: None, books, seen_acked: 0 }
    }

    /// What it waits for; `None` before it was called.
    pub fn waits_for(&self) -> Option<Wake> {
        self.wake
    }

    /// True once it was called, so that it waits for something, or for nothing more.
    pub fn is_waiting(&self) -> bool {
        self.wake.is_some()
    }

    /// True once it wants no more calls.
    pub fn is_done(&self) -> bool {
        self.wake == Some(Wake::Done)
    }

    /// When it is to be called, whatever happens.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        match self.wake {
            Some(Wake::At(at) | Wake::AckedOrAt(at) | Wake::RoomOrAt(at)) => Some(at),
            _ => None,
        }
    }

    /// Calls the application, again and again while it asks for what it has.
    pub fn call<T: Transport>(&mut self, transport: &mut T, rng: &mut Rng, call: Call)
    where
        B: Books<T>,
    {
        let Some(application) = &mut self.application else { return };
        for _ in 0..CALLS_AT_ONCE {
            let mut io = Io { call, transport, books: &mut self.books, moved: false };
            let wake = application.on_wake(call.now, &mut io, rng);
            let moved = io.moved;
            // Time must pass, or a run would not end.
            let soon = call.now + Duration::from_nanos(1);
            self.wake = Some(match wake {
                Wake::At(at) => Wake::At(at.max(soon)),
                Wake::AckedOrAt(at) => Wake::AckedOrAt(at.max(soon)),
                Wake::RoomOrAt(at) => Wake::RoomOrAt(at.max(soon)),
                other => other,
            });
            let ready = match wake {
                Wake::Readable => moved && (transport.readable() > 0 || transport.at_end()),
                Wake::Ended => moved && transport.at_end(),
                Wake::Writable => moved && transport.takes_more(),
                Wake::Flushed => transport.unacked() == 0,
                Wake::At(_) | Wake::AckedOrAt(_) | Wake::RoomOrAt(_) | Wake::Done => false,
            };
            if !ready {
                return;
            }
        }
    }
}

impl<B: Books<Connection>> User<B> {
    /// Reads the connection's events, tells `told` of each and calls the application where they concern it.
    /// True when it was called: then there may be more to send, and more to tell. `opened` is when the
    /// connection was opened. `first`: something has happened since this was asked last, other than what the
    /// application itself has done.
    #[inline(always)]
    pub fn run(
        &mut self,
        connection: &mut Connection,
        rng: &mut Rng,
        (now, opened): (Instant, Instant),
        first: bool,
        mut told: impl FnMut(ConnectionEvent),
    ) -> bool {
        let mut call = match self.wake {
            Some(Wake::At(at)) => at <= now,
            Some(Wake::AckedOrAt(at)) => {
                at <= now
                    || connection.stats().bytes_acked > self.seen_acked
                    || first && connection.holds_sacks()
            }
            Some(Wake::RoomOrAt(_)) => first,
            _ => false,
        };
        let mut established = false;
        while let Some(event) = connection.poll_event() {
            match event {
                ConnectionEvent::Established => established = true,
                ConnectionEvent::Readable if self.wake == Some(Wake::Ended) => {
                    self.books.read(connection, now, Bytes::MAX);
                    call |= connection.at_end();
                }
                ConnectionEvent::Readable => call |= self.wake == Some(Wake::Readable),
                ConnectionEvent::Writable => call |= self.wake == Some(Wake::Writable),
                ConnectionEvent::Flushed => call |= self.wake == Some(Wake::Flushed),
                ConnectionEvent::Finished | ConnectionEvent::Aborted(_) => {}
            }
            told(event);
        }
        if seldom(call || established) {
            self.seen_acked = connection.stats().bytes_acked;
            self.call(connection, rng, Call { now, at: now, opened: established.then_some(opened) });
        }
        call || established
    }
}

/// An application's access to its transport, for one call.
struct Io<'a, T, B> {
    call: Call,
    transport: &'a mut T,
    books: &'a mut B,
    /// The application has read or written something.
    moved: bool,
}

impl<T: Transport, B: Books<T>> AppIo for Io<'_, T, B> {
    fn readable(&self) -> Bytes {
        self.transport.readable()
    }

    fn read(&mut self, n: Bytes) -> Bytes {
        let got = self.books.read(self.transport, self.call.now, n);
        self.moved |= got > 0;
        got
    }

    fn writable(&self) -> Bytes {
        self.transport.writable()
    }

    fn write(&mut self, n: Bytes) -> Bytes {
        let taken = self.books.write(self.transport, self.call.now, n);
        self.moved |= taken > 0;
        taken
    }

    fn unacked(&self) -> Bytes {
        self.transport.unacked()
    }

    fn has_arrived(&self, from: Bytes, to: Bytes) -> bool {
        self.transport.has_arrived(from, to)
    }

    fn room(&mut self) -> Bytes {
        self.transport.room(self.call.now)
    }

    fn at_end(&self) -> bool {
        self.transport.at_end()
    }

    fn close(&mut self) {
        self.transport.close(self.call.now);
    }

    fn mark_start(&mut self) {
        self.books.begin(self.call.opened.unwrap_or(self.call.at));
    }

    fn mark_end(&mut self) {
        if let Some(began) = self.books.begun() {
            self.books.record(began, self.call.at);
        }
    }

    fn record_response(&mut self, since: Instant) {
        self.books.record(since, self.call.at);
    }
}

impl Transport for Connection {
    fn readable(&self) -> Bytes {
        Connection::readable(self)
    }

    fn writable(&self) -> Bytes {
        Connection::writable(self)
    }

    fn takes_more(&self) -> bool {
        Connection::writable(self) > 0
    }

    fn unacked(&self) -> Bytes {
        Connection::unacked(self)
    }

    fn has_arrived(&self, from: Bytes, to: Bytes) -> bool {
        Connection::has_arrived(self, from, to)
    }

    fn room(&mut self, now: Instant) -> Bytes {
        Connection::room(self, now)
    }

    fn at_end(&self) -> bool {
        Connection::at_end(self)
    }

    fn close(&mut self, now: Instant) {
        Connection::close(self, now);
    }
}
