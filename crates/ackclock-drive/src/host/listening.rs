//! Listening ports, and the connections that wait at them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar};

use ackclock_units::Instant;

use super::core::{Core, Entry};
use super::guests::Service;
use crate::Port;

/// A listening port.
pub(super) struct Listening {
    pub(super) backlog: usize,
    /// Connections that are half open, or established and not accepted.
    pub(super) open: usize,
    /// Established, in the order in which they became so.
    pub(super) ready: VecDeque<u32>,
    pub(super) changed: Arc<Condvar>,
    /// Puts applications above its connections, which nobody else accepts then.
    service: Option<Service>,
}

impl Listening {
    pub(super) fn new(backlog: usize, service: Option<Service>) -> Self {
        Self { backlog: backlog.max(1), open: 0, ready: VecDeque::new(), changed: Arc::default(), service }
    }
}

impl Core {
    /// A connection for a SYN to a listening port, unless its backlog is full.
    pub(super) fn half_open(&mut self, now: Instant, local: SocketAddr, peer: SocketAddr) -> Option<u32> {
        let listening = self.listeners.get_mut(&local.port())?;
        if listening.open >= listening.backlog {
            // The peer will try again (RFC 9293 leaves the choice; kernels do the same).
            self.counters.backlog_drops += 1;
            return None;
        }
        let guest = match &mut listening.service {
            Some(service) => Some(service(local)?),
            None => None,
        };
        listening.open += 1;
        let id = self.insert(now, local, peer, Some(local.port()), guest);
        self.entry(id).connection.listen();
        Some(id)
    }

    /// The next connection that waits at a listening port.
    pub(super) fn accept(&mut self, listening_port: u16) -> Option<u32> {
        let listening = self.listeners.get_mut(&listening_port)?;
        let id = listening.ready.pop_front()?;
        listening.open -= 1;
        let entry = self.entry(id);
        (entry.held, entry.listener) = (true, None);
        Some(id)
    }

    /// Stops listening, and resets what nobody accepted.
    pub(super) fn unlisten(&mut self, now: Instant, port: &Port, listening_port: u16) {
        self.listeners.remove(&listening_port);
        for id in 0..self.entries.len() as u32 {
            if let Some(entry) = &mut self.entries[id as usize]
                && entry.listener == Some(listening_port)
            {
                entry.listener = None;
                entry.connection.abort(now);
                self.settle(now, port, id);
            }
        }
    }

    pub(super) fn leave_listener(&mut self, entry: &mut Entry) {
        if let Some(listening) = entry.listener.take().and_then(|p| self.listeners.get_mut(&p)) {
            listening.open -= 1;
        }
    }
}
