//! What an application has done with its connection.

use ackclock_engine::{AbortReason, Connection, ResponseTimes, UserIo};
use ackclock_units::{Bytes, Duration, Instant};

use crate::truth::Copied;

/// What an application has done with its connection.
#[derive(Default, Debug)]
pub(crate) struct IoState {
    /// Of a source of datagrams: bytes sent.
    pub(crate) written: Bytes,
    /// Of a source of datagrams: bytes delivered to the other end.
    pub(crate) read: Bytes,
    pub(crate) rare: Option<Box<Rare>>,
}

/// What most ends do not have, or only when they are over, in one place out of line.
#[derive(Default, Debug)]
pub(crate) struct Rare {
    pub(crate) over: Option<Ending>,
    pub(crate) responses: Responses,
    /// Few stacks send copies.
    pub(crate) copied: Copied,
}

/// How one end came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ending {
    pub(crate) at: Instant,
    /// `None` after an orderly close.
    pub(crate) reason: Option<AbortReason>,
}

impl IoState {
    /// How this end came to its end, if it has.
    #[inline]
    pub(crate) fn over(&self) -> Option<Ending> {
        self.rare.as_ref()?.over
    }
}

/// Transactions of an application: when the one that runs began, how many are over and how long they took
/// together.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Responses {
    pub(crate) started: Option<Instant>,
    pub(crate) sum: Duration,
    pub(crate) count: u32,
}

impl UserIo<Connection> for IoState {
    #[inline]
    fn read(&mut self, connection: &mut Connection, now: Instant, n: Bytes) -> Bytes {
        let got = connection.read_counted(now, n);
        self.read += got;
        got
    }

    #[inline]
    fn write(&mut self, connection: &mut Connection, now: Instant, n: Bytes) -> Bytes {
        let taken = connection.write_counted(now, n);
        self.written += taken;
        taken
    }
}

impl ResponseTimes for IoState {
    fn begin(&mut self, at: Instant) {
        self.rare.get_or_insert_default().responses.started = Some(at);
    }

    fn end(&mut self) -> Option<Instant> {
        self.rare.as_mut().and_then(|rare| rare.responses.started.take())
    }

    fn record(&mut self, since: Instant, now: Instant) {
        let responses = &mut self.rare.get_or_insert_default().responses;
        responses.sum += now.since(since);
        responses.count += 1;
    }
}
