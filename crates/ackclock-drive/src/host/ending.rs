//! The end of a host: in order, because its port is gone, or because of a panic. Whoever waits is told at
//! once, and whoever comes later.

use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ackclock_units::Instant;

use super::core::Core;
use crate::Port;

/// Why nothing happens any more.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    /// One sentence.
    pub(super) why: String,
    /// After a panic: what is in the table may be anything, and nothing more is done with it.
    pub(super) broken: bool,
}

impl Ending {
    /// The host was dropped.
    pub(super) fn in_order() -> Self {
        Self { why: "the host has ended: it was dropped".into(), broken: false }
    }

    /// Its port takes and gives nothing any more.
    pub(super) fn port_failed(e: &io::Error) -> Self {
        Self { why: format!("the host has ended: its port failed: {e}"), broken: false }
    }

    /// A thread panicked while it worked on a connection, most likely in a policy.
    pub(super) fn panicked((local, peer): (SocketAddr, SocketAddr), panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_string());
        let text =
            text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into());
        Self {
            why: format!("the host has ended: a panic on its connection from {local} to {peer}: {text}"),
            broken: true,
        }
    }

    /// A thread panicked somewhere else in the host.
    pub(super) fn thread_lost() -> Self {
        Self { why: "the host has ended: a panic in one of its threads".into(), broken: true }
    }

    pub(super) fn error(&self) -> io::Error {
        io::Error::new(io::ErrorKind::ConnectionAborted, self.why.clone())
    }
}

impl Core {
    /// The error of every call once the host has ended.
    pub(super) fn end_error(&self) -> Option<io::Error> {
        self.ended.as_ref().map(Ending::error)
    }

    /// The same where not even what has arrived before is given out any more.
    pub(super) fn broken(&self) -> Option<io::Error> {
        self.ended.as_ref().filter(|e| e.broken).map(Ending::error)
    }

    /// Resets everything, and wakes everyone.
    pub(super) fn abort_all(&mut self, now: Instant, port: &Port, ending: Ending) {
        if self.ended.is_some() {
            return;
        }
        self.ended = Some(ending);
        for id in 0..self.entries.len() as u32 {
            self.operate(now, port, id, |entry| {
                entry.connection.abort(now);
                entry.changed.notify_all();
            });
        }
        self.wake_all();
    }

    /// After a panic: peers are told as far as that still goes, and everyone is woken.
    pub(super) fn fail(&mut self, now: Instant, port: &Port, ending: Ending) {
        if self.ended.as_ref().is_some_and(|e| e.broken) {
            return;
        }
        self.ended = Some(ending);
        for id in 0..self.entries.len() {
            let Some(mut entry) = self.entries[id].take() else { continue };
            // The connection that panicked may do so again: then its peer is not told.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                entry.connection.abort(now);
                self.transmit(now, port, &mut entry);
            }));
            self.entries[id] = Some(entry);
        }
        self.wake_all();
    }

    fn wake_all(&self) {
        for entry in self.entries.iter().flatten() {
            entry.changed.notify_all();
        }
        for listening in self.listeners.values() {
            listening.changed.notify_all();
        }
    }
}
