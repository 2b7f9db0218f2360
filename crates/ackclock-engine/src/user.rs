//! The user of a connection (RFC 9293 §3.9): the application above it. When it is called and what it sees is
//! the same in every world. The connection may be the engine's, or a kernel's socket behind
//! [`UserTransport`].

use ackclock_policy::{AppIo, Application, Wake};
use ackclock_units::{Bytes, Duration, Instant, Rng, seldom};

use crate::{Connection, ConnectionEvent};

/// An application above a connection, and what it waits for.
#[derive(Debug)]
pub struct User<B> {
    /// `None` without an application.
    pub application: Option<Box<dyn Application>>,
    /// What it waits for; `None` before the connection is established.
    wake: Option<Wake>,
    /// What its world provides for it.
    pub io: B,
    /// Bytes acknowledged when it was last called.
    seen_acked: Bytes,
}

/// A connection as its user sees it: the engine's, or a kernel's socket.
pub trait UserTransport {
    /// Bytes that can be read.
    fn readable(&self) -> Bytes;
    /// Bytes that can be written.
    fn writable(&self) -> Bytes;
    /// True when more can be written right after a write. False also for a transport that reports this by an
    /// event.
    fn takes_more(&self) -> bool;
    /// Bytes written and not acknowledged.
    fn unacked(&self) -> Bytes;
    /// True when the peer is known to have the bytes written from `from` to `to`.
    fn has_arrived(&self, from: Bytes, to: Bytes) -> bool;
    /// Bytes that its windows would let leave at once.
    fn room(&mut self, now: Instant) -> Bytes;
    /// True when the peer has closed and everything has been read.
    fn at_end(&self) -> bool;
    /// Closes the sending direction.
    fn close(&mut self, now: Instant);
    /// Closes both directions: nothing is read any more.
    fn leave(&mut self, now: Instant);
}

/// Records the response times of a connection's user.
pub trait ResponseTimes {
    /// A transaction begins.
    fn begin(&mut self, at: Instant);
    /// Ends the running transaction, if there is one, and returns when it began.
    fn end(&mut self) -> Option<Instant>;
    /// Records a transaction that took from `since` until `now`.
    fn record(&mut self, since: Instant, now: Instant);
    /// Records a request that was made at `since` and whose response, of this many bytes, is complete now.
    fn record_exchange(&mut self, since: Instant, now: Instant, _bytes: Bytes) {
        self.record(since, now);
    }
}

/// What a world provides for the user of a transport: reading, writing, and recording of response times.
pub trait UserIo<T>: ResponseTimes {
    /// Reads up to `n` bytes from the transport and returns how many there were.
    fn read(&mut self, transport: &mut T, now: Instant, n: Bytes) -> Bytes;
    /// Writes up to `n` bytes to the transport and returns how many fitted.
    fn write(&mut self, transport: &mut T, now: Instant, n: Bytes) -> Bytes;
}

/// The times that belong to one call of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The present moment.
    pub now: Instant,
    /// When the event that it is called for happened. With an acknowledgment that a kernel has timestamped,
    /// that is before `now`.
    pub at: Instant,
    /// In the first call, when the connection was opened: a transaction that begins in this call includes the
    /// handshake.
    pub opened: Option<Instant>,
}

/// An application that keeps waiting for a condition that already holds is called at most this often before
/// the next event.
const CALLS_AT_ONCE: u32 = 64;

impl<B: Default> Default for User<B> {
    fn default() -> Self {
        Self { application: None, wake: None, io: B::default(), seen_acked: 0 }
    }
}

impl<B> User<B> {
    /// A user whose application is called once its connection is established.
    pub fn new(application: Box<dyn Application>, io: B) -> Self {
        Self { application: Some(application), wake: None, io, seen_acked: 0 }
    }

    /// What it waits for; `None` before it was called.
    pub fn waits_for(&self) -> Option<Wake> {
        self.wake
    }

    /// True once it was called, whether it waits for something or is done.
    pub fn is_waiting(&self) -> bool {
        self.wake.is_some()
    }

    /// True once it wants no more calls.
    pub fn is_done(&self) -> bool {
        self.wake == Some(Wake::Done)
    }

    /// Lets an application that waits at a barrier be called at the next run.
    pub fn release(&mut self, now: Instant) {
        if self.wake == Some(Wake::Barrier) {
            self.wake = Some(Wake::At(now));
        }
    }

    /// When it is to be called even if nothing else happens.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        match self.wake {
            Some(Wake::At(at) | Wake::AckedOrAt(at) | Wake::RoomOrAt(at) | Wake::WritableOrAt(at)) => {
                Some(at)
            }
            _ => None,
        }
    }

    /// Calls the application, and again while the condition that it waits for holds.
    pub fn call<T: UserTransport>(&mut self, transport: &mut T, rng: &mut Rng, call: Call)
    where
        B: UserIo<T>,
    {
        let Some(application) = &mut self.application else { return };
        for _ in 0..CALLS_AT_ONCE {
            let mut io = Io { call, transport, io: &mut self.io, moved: false };
            let wake = application.on_wake(call.now, &mut io, rng);
            let moved = io.moved;
            // Time must pass, or a run would not end.
            let soon = call.now + Duration::from_nanos(1);
            self.wake = Some(match wake {
                Wake::At(at) => Wake::At(at.max(soon)),
                Wake::AckedOrAt(at) => Wake::AckedOrAt(at.max(soon)),
                Wake::RoomOrAt(at) => Wake::RoomOrAt(at.max(soon)),
                Wake::WritableOrAt(at) => Wake::WritableOrAt(at.max(soon)),
                other => other,
            });
            let ready = match wake {
                Wake::Readable => moved && (transport.readable() > 0 || transport.at_end()),
                Wake::Ended => moved && transport.at_end(),
                Wake::Writable | Wake::WritableOrAt(_) => moved && transport.takes_more(),
                Wake::Flushed => transport.unacked() == 0,
                Wake::At(_) | Wake::AckedOrAt(_) | Wake::RoomOrAt(_) | Wake::Barrier | Wake::Done => false,
            };
            if !ready {
                return;
            }
        }
    }
}

impl<B: UserIo<Connection>> User<B> {
    /// Polls the connection's events, passes each to `on_event`, and calls the application if it waits for
    /// one of them. Returns true if it was called: then there may be more to send, and more events. `opened`
    /// is when the connection was opened. `first`: something other than the application's own calls has
    /// happened since the last run.
    #[inline(always)]
    pub fn run(
        &mut self,
        connection: &mut Connection,
        rng: &mut Rng,
        (now, opened): (Instant, Instant),
        first: bool,
        mut on_event: impl FnMut(ConnectionEvent),
    ) -> bool {
        let mut call = match self.wake {
            Some(Wake::At(at) | Wake::WritableOrAt(at)) => at <= now,
            Some(Wake::AckedOrAt(at)) => {
                at <= now
                    || connection.stats().bytes_acked > self.seen_acked
                    || first && connection.has_sacked_data()
            }
            Some(Wake::RoomOrAt(_)) => first,
            _ => false,
        };
        let mut established = false;
        while let Some(event) = connection.poll_event() {
            match event {
                ConnectionEvent::Established => established = true,
                ConnectionEvent::Readable if self.wake == Some(Wake::Ended) => {
                    self.io.read(connection, now, Bytes::MAX);
                    call |= connection.at_end();
                }
                ConnectionEvent::Readable => call |= self.wake == Some(Wake::Readable),
                ConnectionEvent::Writable => {
                    call |= matches!(self.wake, Some(Wake::Writable | Wake::WritableOrAt(_)));
                }
                ConnectionEvent::Flushed => call |= self.wake == Some(Wake::Flushed),
                ConnectionEvent::Urgent | ConnectionEvent::Finished | ConnectionEvent::Aborted(_) => {}
            }
            on_event(event);
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
    io: &'a mut B,
    /// The application has read or written something.
    moved: bool,
}

impl<T: UserTransport, B: UserIo<T>> AppIo for Io<'_, T, B> {
    fn readable(&self) -> Bytes {
        self.transport.readable()
    }

    fn read(&mut self, n: Bytes) -> Bytes {
        let got = self.io.read(self.transport, self.call.now, n);
        self.moved |= got > 0;
        got
    }

    fn writable(&self) -> Bytes {
        self.transport.writable()
    }

    fn write(&mut self, n: Bytes) -> Bytes {
        let taken = self.io.write(self.transport, self.call.now, n);
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

    fn leave(&mut self) {
        self.transport.leave(self.call.now);
    }

    fn mark_start(&mut self) {
        self.io.begin(self.call.opened.unwrap_or(self.call.at));
    }

    fn mark_end(&mut self) {
        if let Some(began) = self.io.end() {
            self.io.record(began, self.call.at);
        }
    }

    fn record_response(&mut self, since: Instant) {
        self.io.record(since, self.call.at);
    }

    fn record_exchange(&mut self, since: Instant, bytes: Bytes) {
        self.io.record_exchange(since, self.call.at, bytes);
    }
}

impl UserTransport for Connection {
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

    fn leave(&mut self, now: Instant) {
        Connection::leave(self, now);
    }
}
