//! One side of a transfer: an endpoint, and the application that reads and writes as planned.

use ackclock_engine::{AbortReason, ConnectionEvent, State};
use ackclock_units::Instant;

use crate::endpoint::{Endpoint, pattern};
use crate::plan::{Closing, Plan, Reading};

/// An endpoint and its application.
#[derive(Debug)]
pub struct Side {
    /// Its endpoint.
    pub endpoint: Endpoint,
    /// What its application does.
    pub plan: Plan,
    /// Bytes written so far.
    pub written: u64,
    /// Bytes read so far, each compared with what the peer wrote.
    pub read: u64,
    /// Events of the connection so far.
    pub events: Vec<(Instant, ConnectionEvent)>,
    pub(crate) read_at: Instant,
}

impl Side {
    /// True when both directions were closed by a FIN.
    pub fn finished(&self) -> bool {
        self.events.iter().any(|(_, e)| *e == ConnectionEvent::Finished)
    }

    /// Why it was aborted, if it was.
    pub fn aborted(&self) -> Option<AbortReason> {
        self.events
            .iter()
            .find_map(|(_, e)| if let ConnectionEvent::Aborted(reason) = e { Some(*reason) } else { None })
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.finished() || self.aborted().is_some()
    }

    /// When the application reads next, if it waits to read.
    pub(crate) fn wakes_at(&self) -> Option<Instant> {
        let waits =
            matches!(self.plan.reading, Reading::Slow { .. }) && self.endpoint.connection.readable() > 0;
        waits.then_some(self.read_at)
    }

    /// Reads, writes and closes as planned.
    pub(crate) fn act(&mut self, side: usize, now: Instant) {
        let connection = &mut self.endpoint.connection;
        while let Some(event) = connection.poll_event() {
            self.events.push((now, event));
        }
        let mut buffer = [0; 4096];
        let most = match self.plan.reading {
            Reading::Greedy => usize::MAX,
            Reading::Slow { bytes, .. } if self.read_at <= now => bytes,
            Reading::Slow { .. } => 0,
        };
        let mut taken = 0;
        while taken < most {
            let want = buffer.len().min(most - taken);
            let n = connection.read(now, &mut buffer[..want]);
            if n == 0 {
                break;
            }
            for &byte in &buffer[..n] {
                assert_eq!(
                    byte,
                    pattern(1 - side, self.read),
                    "wrong byte at {} of the stream to side {side}",
                    self.read
                );
                self.read += 1;
            }
            taken += n;
        }
        if let Reading::Slow { every, .. } = self.plan.reading
            && taken > 0
        {
            self.read_at = now + every;
        }
        while self.written < self.plan.bytes {
            let n = (self.plan.bytes - self.written).min(buffer.len() as u64) as usize;
            (0..n).for_each(|i| buffer[i] = pattern(side, self.written + i as u64));
            let n = connection.write(now, &buffer[..n]);
            self.written += n as u64;
            if n == 0 {
                break;
            }
        }
        let opened = !matches!(connection.state(), State::Closed | State::Listen | State::SynSent);
        let peer_has = self.plan.closing == Closing::WhenWritten || connection.at_end();
        if opened && self.written == self.plan.bytes && peer_has {
            connection.close(now);
        }
    }
}
