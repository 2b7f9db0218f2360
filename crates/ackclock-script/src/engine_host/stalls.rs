//! How long data waits, and for what: Linux's chronograph of a connection that sends (`tcp_chrono_start`).

use ackclock_engine::Connection;
use ackclock_units::{Duration, Instant};

/// Why data is not acknowledged yet. A later one stands before an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
enum Wait {
    /// There is none.
    #[default]
    Idle,
    /// It is being sent.
    Busy,
    /// The receiver's window holds it back.
    Window,
    /// More could be sent, but a call waits for memory.
    Memory,
}

/// Times of waiting.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stalls {
    wait: Wait,
    since: Instant,
    busy: Duration,
    window: Duration,
    memory: Duration,
}

impl Stalls {
    /// Notes what `connection` waits for from now on. `no_memory`: a call waits for memory.
    pub(super) fn note(&mut self, connection: &Connection, no_memory: bool, now: Instant) {
        let wait = if connection.unacked() == 0 {
            Wait::Idle
        } else {
            let v = connection.view(now);
            let fits = v.pipe < v.window.cwnd;
            let next = v.unsent.min(u64::from(v.smss));
            if next > 0 && fits && v.flight_size + next > v.rwnd {
                Wait::Window
            } else if no_memory && (self.wait == Wait::Memory || (next == 0 && fits)) {
                // It lasts until there is memory (`tcp_check_space`).
                Wait::Memory
            } else {
                Wait::Busy
            }
        };
        if wait != self.wait {
            let [busy, window, memory] = self.totals(now);
            *self = Self { wait, since: now, busy, window, memory };
        }
    }

    fn totals(&self, now: Instant) -> [Duration; 3] {
        let running = |wait| if self.wait == wait { now.since(self.since) } else { Duration::ZERO };
        let busy = if self.wait > Wait::Idle { now.since(self.since) } else { Duration::ZERO };
        [self.busy + busy, self.window + running(Wait::Window), self.memory + running(Wait::Memory)]
    }

    /// Time in which data waited for anything, for the receiver's window, and for memory, µs.
    pub(super) fn micros(&self, now: Instant) -> [u64; 3] {
        self.totals(now).map(|time| time.as_nanos() / 1000)
    }
}
