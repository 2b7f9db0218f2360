//! The user of a connection (RFC 9293 §3.9): an application above it, in whatever world. When it is called,
//! and what it sees.

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

/// What a world does for a connection's user: moves its bytes, and keeps its response times.
pub trait Books {
    /// Takes up to `n` bytes from the connection; returns how many there were.
    fn read(&mut self, connection: &mut Connection, now: Instant, n: Bytes) -> Bytes;
    /// Writes up to `n` bytes; returns how many were taken.
    fn write(&mut self, connection: &mut Connection, now: Instant, n: Bytes) -> Bytes;
    /// A transaction begins.
    fn begin(&mut self, at: Instant);
    /// When the one that runs began, if one does: it runs no more.
    fn begun(&mut self) -> Option<Instant>;
    /// One has taken from `since` until `now`.
    fn record(&mut self, since: Instant, now: Instant);
}

/// An application that asks again and again for what it already has waits for the next event after so many
/// calls.
const CALLS_AT_ONCE: u32 = 64;

impl<B: Books + Default> Default for User<B> {
    fn default() -> Self {
        Self { application: None, wake: None, books: B::default(), seen_acked: 0 }
    }
}

impl<B: Books> User<B> {
    /// An application that is called once its connection is established.
    pub fn new(application: Box<dyn Application>, books: B) -> Self {
        Self { application: Some(application), wake: None, books, seen_acked: 0 }
    }

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
            // A transaction that begins as the connection opens has waited for the handshake too.
            self.call(connection, rng, now, established.then_some(opened));
        }
        call || established
    }

    fn call(&mut self, connection: &mut Connection, rng: &mut Rng, now: Instant, opened: Option<Instant>) {
        let Some(application) = &mut self.application else { return };
        self.seen_acked = connection.stats().bytes_acked;
        for _ in 0..CALLS_AT_ONCE {
            let mut io = Io { now, opened, connection, books: &mut self.books, moved: false };
            let wake = application.on_wake(now, &mut io, rng);
            let moved = io.moved;
            // Time must pass, or a run would not end.
            let soon = now + Duration::from_nanos(1);
            self.wake = Some(match wake {
                Wake::At(at) => Wake::At(at.max(soon)),
                Wake::AckedOrAt(at) => Wake::AckedOrAt(at.max(soon)),
                Wake::RoomOrAt(at) => Wake::RoomOrAt(at.max(soon)),
                other => other,
            });
            let ready = match wake {
                Wake::Readable => moved && (connection.readable() > 0 || connection.at_end()),
                Wake::Ended => moved && connection.at_end(),
                Wake::Writable => moved && connection.writable() > 0,
                Wake::Flushed => connection.unacked() == 0,
                Wake::At(_) | Wake::AckedOrAt(_) | Wake::RoomOrAt(_) | Wake::Done => false,
            };
            if !ready {
                return;
            }
        }
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
}

/// An application's access to its connection.
struct Io<'a, B> {
    now: Instant,
    /// When the connection was opened, while that is when a transaction that starts now began: at the first
    /// call.
    opened: Option<Instant>,
    connection: &'a mut Connection,
    books: &'a mut B,
    /// The application has read or written something.
    moved: bool,
}

impl<B: Books> AppIo for Io<'_, B> {
    fn readable(&self) -> Bytes {
        self.connection.readable()
    }

    fn read(&mut self, n: Bytes) -> Bytes {
        let got = self.books.read(self.connection, self.now, n);
        self.moved |= got > 0;
        got
    }

    fn writable(&self) -> Bytes {
        self.connection.writable()
    }

    fn write(&mut self, n: Bytes) -> Bytes {
        let taken = self.books.write(self.connection, self.now, n);
        self.moved |= taken > 0;
        taken
    }

    fn unacked(&self) -> Bytes {
        self.connection.unacked()
    }

    fn has_arrived(&self, from: Bytes, to: Bytes) -> bool {
        self.connection.has_arrived(from, to)
    }

    fn room(&mut self) -> Bytes {
        self.connection.room(self.now)
    }

    fn at_end(&self) -> bool {
        self.connection.at_end()
    }

    fn close(&mut self) {
        self.connection.close(self.now);
    }

    fn mark_start(&mut self) {
        self.books.begin(self.opened.unwrap_or(self.now));
    }

    fn mark_end(&mut self) {
        if let Some(began) = self.books.begun() {
            self.books.record(began, self.now);
        }
    }

    fn record_response(&mut self, since: Instant) {
        self.books.record(since, self.now);
    }
}
