//! Counters of an application's reads, writes and responses.

use ackclock_engine::{AbortReason, Connection, ResponseTimes, Transmit, UserIo};
use ackclock_units::{Bytes, Duration, Instant, seldom};

use crate::sim::Exchange;
use crate::truth::Copied;

/// What an application has read and written, and its response times.
#[derive(Default, Debug)]
pub(crate) struct IoState {
    /// Bytes written; of a source of datagrams, bytes sent.
    pub(crate) written: Bytes,
    /// Bytes read; of a source of datagrams, bytes delivered to the other end.
    pub(crate) read: Bytes,
    pub(crate) rare: Option<Box<Rare>>,
}

/// State that most ends lack or have only once they are over; boxed to keep [`IoState`] small.
#[derive(Default, Debug)]
pub(crate) struct Rare {
    pub(crate) over: Option<Ending>,
    pub(crate) responses: Responses,
    pub(crate) exchanges: Vec<Exchange>,
    /// Of stacks that send copies, which few do.
    pub(crate) copied: Copied,
    /// What has left during calls of the application ([`ackclock_engine::Config::eager_send`]).
    pub(crate) early: Vec<Transmit>,
}

/// When and why one end of a connection was over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ending {
    pub(crate) at: Instant,
    /// `None` after an orderly close.
    pub(crate) reason: Option<AbortReason>,
}

impl IoState {
    /// Writes in the pieces after each of which a kernel sends what may leave.
    #[inline(never)]
    fn write_eagerly(&mut self, connection: &mut Connection, now: Instant, n: Bytes) -> Bytes {
        let mut taken = 0;
        loop {
            let part = connection.next_write(n - taken, now);
            let written = connection.write_counted(now, part);
            (taken, self.written) = (taken + written, self.written + written);
            self.send_early(connection, now);
            if written < part || taken == n {
                return taken;
            }
        }
    }

    /// Takes what a write lets leave at once.
    #[inline(never)]
    fn send_early(&mut self, connection: &mut Connection, now: Instant) {
        let early = &mut self.rare.get_or_insert_default().early;
        early.extend(std::iter::from_fn(|| connection.poll_transmit(now)));
    }

    /// When and why this end was over; `None` while it is not.
    #[inline]
    pub(crate) fn over(&self) -> Option<Ending> {
        self.rare.as_ref()?.over
    }
}

/// Response times of an application: start of the current transaction, number of completed ones and sum of
/// their times.
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
        if seldom(connection.sends_eagerly()) {
            self.write_eagerly(connection, now, n)
        } else {
            let taken = connection.write_counted(now, n);
            self.written += taken;
            taken
        }
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

    fn record_exchange(&mut self, since: Instant, now: Instant, bytes: Bytes) {
        self.record(since, now);
        let rare = self.rare.get_or_insert_default();
        let number = rare.responses.count - 1;
        rare.exchanges.push(Exchange { flow: 0, source: 0, number, since, end: now, bytes });
    }
}
