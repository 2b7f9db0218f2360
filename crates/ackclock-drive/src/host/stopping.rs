//! The end of a host: by dropping it, after a failure of its port, or after a panic. All waiting and later
//! calls return the reason.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ackclock_units::Instant;

use super::core::Core;
use super::ending::HostEnd;
use crate::Port;

impl Core {
    /// The error of every call once the host has ended.
    pub(super) fn end_error(&self) -> Option<io::Error> {
        self.ended.as_ref().map(HostEnd::error)
    }

    /// As [`Core::end_error`], but only after a panic, when received data must not be read any more.
    pub(super) fn broken(&self) -> Option<io::Error> {
        self.ended.as_ref().filter(|e| e.broken).map(HostEnd::error)
    }

    /// Resets all connections and wakes all waiting threads.
    pub(super) fn abort_all(&mut self, now: Instant, port: &Port, ending: HostEnd) {
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

    /// Ends the host after a panic: resets connections as far as possible, and wakes all waiting threads.
    pub(super) fn fail(&mut self, now: Instant, port: &Port, ending: HostEnd) {
        if self.ended.as_ref().is_some_and(|e| e.broken) {
            return;
        }
        self.ended = Some(ending);
        for id in 0..self.entries.len() {
            let Some(mut entry) = self.entries[id].take() else { continue };
            // The connection that panicked may panic again; its peer then gets no reset.
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
