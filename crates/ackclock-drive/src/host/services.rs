//! How applications come above connections of the table, and how they leave.

use std::net::SocketAddr;

use ackclock_units::Instant;

use super::backlog::Listening;
use super::core::{Core, Entry};
use super::guests::{Guest, Left, Service};
use super::run::Shared;
use crate::Port;

impl Core {
    /// The application above a connection is over: its connection goes on without it, as one that its program
    /// has let go of.
    pub(super) fn let_go(&mut self, entry: &mut Entry) {
        if let Some(seated) = entry.guest.take_if(|s| s.is_over(&entry.connection)) {
            self.left.push(seated.leave(&entry.connection));
            self.guests -= 1;
            entry.held = false;
        }
    }

    fn collect(&mut self, now: Instant, port: &Port) -> Vec<Left> {
        for id in 0..self.entries.len() as u32 {
            let Some(entry) = &mut self.entries[id as usize] else { continue };
            if let Some(seated) = entry.guest.take() {
                self.left.push(seated.leave(&entry.connection));
                self.guests -= 1;
                self.release(now, port, id);
            }
        }
        std::mem::take(&mut self.left)
    }
}

impl Shared {
    /// Opens a connection to `to` with an application above it. False without an address of that family or a
    /// free port.
    pub(super) fn launch(&self, to: SocketAddr, guest: Guest) -> bool {
        let mut core = self.lock();
        let opened =
            core.ended.is_none() && core.connect(self.clock.now(), &self.port, to, Some(guest)).is_some();
        self.rouse(&mut core);
        opened
    }

    /// Puts an application above each connection to `port`, on every address.
    pub(super) fn serve(&self, port: u16, backlog: usize, service: Service) {
        self.lock().listeners.insert(port, Listening::new(backlog, Some(service)));
    }

    /// How many applications are above connections and not over.
    pub(super) fn guests(&self) -> usize {
        self.lock().guests
    }

    /// What became of all that were ever there; those that are not over are left as they stand.
    pub(super) fn collect(&self) -> Vec<Left> {
        let mut core = self.lock();
        let left = core.collect(self.clock.now(), &self.port);
        self.rouse(&mut core);
        left
    }
}
