//! Counts what an application has written and read on a connection of the kernel or the engine, and checks
//! the bytes read.

use std::sync::Arc;

use ackclock_engine::{Connection, ResponseTimes, UserIo};
use ackclock_units::{Bytes, Duration, Instant};

use crate::pattern::{PayloadPattern, RUN};

/// The most that is read at once.
const BLOCK: usize = 1 << 14;

/// A transaction of an application; for `telnet`, one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Response {
    /// Its start, since the start of the run.
    pub since: Duration,
    /// Its response time. It ends with the acknowledgment, timed by the kernel's timestamp or the engine's
    /// clock; a transaction that does not end with an acknowledgment ends with the application's call.
    pub time: Duration,
    /// Bytes of the response to a request, of applications that make many on a connection.
    pub bytes: Option<Bytes>,
}

/// Counters of one end of a connection.
#[derive(Debug)]
pub(crate) struct Ledger {
    pattern: Arc<PayloadPattern>,
    /// Numbers of the streams in the pattern that it writes and reads.
    out: usize,
    into: usize,
    pub(crate) written: Bytes,
    pub(crate) read: Bytes,
    /// First stream position at which a wrong byte was read.
    pub(crate) wrong: Option<u64>,
    began: Option<Instant>,
    responses: Vec<(Instant, Duration, Option<Bytes>)>,
}

impl Ledger {
    /// For the client's or the server's end of connection `n`.
    pub(crate) fn new(pattern: &Arc<PayloadPattern>, n: usize, client: bool) -> Self {
        let (client_s, server_s) = (2 * n, 2 * n + 1);
        let (out, into) = if client { (client_s, server_s) } else { (server_s, client_s) };
        Self {
            pattern: Arc::clone(pattern),
            out,
            into,
            written: 0,
            read: 0,
            wrong: None,
            began: None,
            responses: Vec::new(),
        }
    }

    /// Writes up to `n` bytes by calling `send`, which returns how many bytes it has taken. Stops when it
    /// takes none.
    pub(crate) fn write_by(&mut self, n: Bytes, mut send: impl FnMut(&[u8]) -> usize) -> Bytes {
        let mut taken = 0;
        while taken < n {
            let bytes = self.pattern.from(self.out, self.written);
            let most = (n - taken).min(bytes.len().min(RUN) as Bytes) as usize;
            let sent = send(&bytes[..most]) as Bytes;
            if sent == 0 {
                break;
            }
            taken += sent;
            self.written += sent;
        }
        taken
    }

    /// Reads up to `n` bytes by calling `take`, which returns how many bytes of the buffer it has filled.
    /// Stops when it fills none.
    pub(crate) fn read_by(&mut self, n: Bytes, mut take: impl FnMut(&mut [u8]) -> usize) -> Bytes {
        let (mut block, mut got) = ([0; BLOCK], 0);
        while got < n {
            let most = (n - got).min(BLOCK as Bytes) as usize;
            let more = take(&mut block[..most]);
            if more == 0 {
                break;
            }
            let wrong = self.pattern.wrong(self.into, self.read, &block[..more]);
            self.wrong = self.wrong.or(wrong);
            got += more as Bytes;
            self.read += more as Bytes;
        }
        got
    }

    /// Its transactions, with starts relative to `zero`.
    pub(crate) fn responses(self, zero: Instant) -> Vec<Response> {
        let response =
            |(since, time, bytes): (Instant, _, _)| Response { since: since.since(zero), time, bytes };
        self.responses.into_iter().map(response).collect()
    }
}

impl UserIo<Connection> for Ledger {
    fn read(&mut self, connection: &mut Connection, now: Instant, n: Bytes) -> Bytes {
        self.read_by(n, |block| connection.read(now, block))
    }

    fn write(&mut self, connection: &mut Connection, now: Instant, n: Bytes) -> Bytes {
        self.write_by(n, |block| connection.write(now, block))
    }
}

impl ResponseTimes for Ledger {
    fn begin(&mut self, at: Instant) {
        self.began = Some(at);
    }

    fn end(&mut self) -> Option<Instant> {
        self.began.take()
    }

    fn record(&mut self, since: Instant, now: Instant) {
        self.responses.push((since, now.since(since), None));
    }

    fn record_exchange(&mut self, since: Instant, now: Instant, bytes: Bytes) {
        self.responses.push((since, now.since(since), Some(bytes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_at_a_wrong_position_is_found() {
        let pattern = Arc::new(PayloadPattern::new());
        let (mut client, mut server) = (Ledger::new(&pattern, 3, true), Ledger::new(&pattern, 3, false));
        let mut wire = Vec::new();
        let mut send = |block: &[u8]| {
            wire.extend_from_slice(block);
            block.len()
        };
        assert_eq!(
            (client.write_by(500, &mut send), client.write_by(100_000, &mut send), client.written),
            (500, 100_000, 100_500)
        );
        let mut at = 0;
        let mut take = |block: &mut [u8]| {
            let n = block.len().min(wire.len() - at);
            block[..n].copy_from_slice(&wire[at..at + n]);
            at += n;
            n
        };
        assert_eq!((server.read_by(60_000, &mut take), server.wrong), (60_000, None));
        // One byte is missing.
        take(&mut [0]);
        assert_eq!((server.read_by(Bytes::MAX, &mut take), server.read), (40_499, 100_499));
        assert_eq!(server.wrong, Some(60_000));
        // Its own stream is another one, and so is another connection's.
        for mut other in [Ledger::new(&pattern, 3, true), Ledger::new(&pattern, 4, false)] {
            other.read_by(1000, |block| {
                block.copy_from_slice(&wire[..block.len()]);
                block.len()
            });
            assert!(other.wrong.is_some());
        }
    }
}
