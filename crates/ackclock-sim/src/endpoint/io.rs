//! An application's access to its connection, and what it has done with it.

use ackclock_engine::Connection;
use ackclock_policy::AppIo;
use ackclock_units::{Bytes, Duration, Instant};

/// What an application has done with its connection.
#[derive(Default, Debug)]
pub(crate) struct IoState {
    /// Of a source of datagrams: bytes sent.
    pub(crate) written: Bytes,
    /// Of a source of datagrams: bytes delivered to the other end.
    pub(crate) read: Bytes,
    /// Bytes acknowledged when it was called last.
    pub(crate) seen_acked: Bytes,
    /// Out of line: most applications have no transactions.
    pub(crate) responses: Option<Box<Responses>>,
}

/// Transactions of an application: when the one that runs began, how many are over and how long they took together.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Responses {
    pub(crate) started: Option<Instant>,
    pub(crate) sum: Duration,
    pub(crate) count: u32,
}

impl IoState {
    fn record_response(&mut self, time: Duration) {
        let responses = self.responses.get_or_insert_default();
        responses.sum += time;
        responses.count += 1;
    }
}

/// An application's access to its connection.
pub(crate) struct Io<'a> {
    pub(crate) now: Instant,
    /// When the flow was opened, while that is when a transaction that starts now began: at the first call.
    pub(crate) opened: Option<Instant>,
    pub(crate) connection: &'a mut Connection,
    pub(crate) state: &'a mut IoState,
    /// The application has read or written something.
    pub(crate) moved: bool,
}

impl AppIo for Io<'_> {
    fn readable(&self) -> Bytes {
        self.connection.readable()
    }

    fn read(&mut self, n: Bytes) -> Bytes {
        let got = self.connection.read_counted(self.now, n);
        self.state.read += got;
        self.moved |= got > 0;
        got
    }

    fn writable(&self) -> Bytes {
        self.connection.writable()
    }

    fn write(&mut self, n: Bytes) -> Bytes {
        let taken = self.connection.write_counted(self.now, n);
        self.state.written += taken;
        self.moved |= taken > 0;
        taken
    }

    fn unacked(&self) -> Bytes {
        self.connection.unacked()
    }

    fn has_arrived(&self, from: Bytes, to: Bytes) -> bool {
        self.connection.has_arrived(from, to)
    }

    fn room(&self) -> Bytes {
        self.connection.room(self.now)
    }

    fn at_end(&self) -> bool {
        self.connection.at_end()
    }

    fn close(&mut self) {
        self.connection.close(self.now);
    }

    fn mark_start(&mut self) {
        self.state.responses.get_or_insert_default().started = Some(self.opened.unwrap_or(self.now));
    }

    fn mark_end(&mut self) {
        if let Some(started) = self.state.responses.as_mut().and_then(|r| r.started.take()) {
            self.state.record_response(self.now.since(started));
        }
    }

    fn record_response(&mut self, since: Instant) {
        self.state.record_response(self.now.since(since));
    }
}
