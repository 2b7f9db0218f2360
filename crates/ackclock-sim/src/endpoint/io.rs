//! What an application has done with its connection.

use ackclock_engine::{Books, Connection};
use ackclock_units::{Bytes, Duration, Instant};

/// What an application has done with its connection.
#[derive(Default, Debug)]
pub(crate) struct IoState {
    /// Of a source of datagrams: bytes sent.
    pub(crate) written: Bytes,
    /// Of a source of datagrams: bytes delivered to the other end.
    pub(crate) read: Bytes,
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

impl Books for IoState {
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

    fn begin(&mut self, at: Instant) {
        self.responses.get_or_insert_default().started = Some(at);
    }

    fn begun(&mut self) -> Option<Instant> {
        self.responses.as_mut().and_then(|r| r.started.take())
    }

    fn record(&mut self, since: Instant, now: Instant) {
        let responses = self.responses.get_or_insert_default();
        responses.sum += now.since(since);
        responses.count += 1;
    }
}
