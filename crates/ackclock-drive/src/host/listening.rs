//! Listening ports and their two queues: half-open connections, and established ones that are not accepted.
//! As with kernels, each queue may be as long as the backlog. When the first one is full, SYNs get a SYN
//! cookie.

use std::net::SocketAddr;

use ackclock_engine::Connection;
use ackclock_units::{Bytes, Instant, SeqNumber};
use ackclock_wire::{Flags, Segment};

use super::cookies::{Opening, VALID};
use super::core::{ConnEntry, Core};
use crate::Port;

/// Buffer bytes that a connection may always hold: a few segments, so that it makes progress while its
/// program reads.
const LEAST_SHARE: Bytes = 16_384;

impl Core {
    /// Opens a connection for a SYN to a listening port. `None` when its queues are full: the peer gets a SYN
    /// cookie, or will retransmit the SYN.
    pub(super) fn half_open(
        &mut self,
        now: Instant,
        port: &Port,
        local: SocketAddr,
        peer: SocketAddr,
        syn: &Segment,
    ) -> Option<u32> {
        let listening = self.listeners.get_mut(&local.port())?;
        let may_open = listening.queue.may_open();
        if listening.queue.is_full() || (!may_open && !self.options.limits.syn_cookies) {
            self.counters.backlog_drops += 1;
            return None;
        }
        if !may_open {
            self.send_cookie(now, port, local, peer, syn);
            return None;
        }
        let id = self.admit(now, local, peer, None)?;
        self.entry(id).connection.listen();
        Some(id)
    }

    /// Adds a half-open connection to the table; `None` if the port runs applications and has none for it.
    fn admit(
        &mut self,
        now: Instant,
        local: SocketAddr,
        peer: SocketAddr,
        iss: Option<SeqNumber>,
    ) -> Option<u32> {
        let iss = iss.unwrap_or_else(|| self.initial_number(now, local, peer));
        let listening = self.listeners.get_mut(&local.port())?;
        let app = match &mut listening.service {
            Some(service) => Some(service(local)?),
            None => None,
        };
        listening.queue.open();
        Some(self.insert(now, local, peer, iss, Some(local.port()), app))
    }

    fn send_cookie(&mut self, now: Instant, port: &Port, local: SocketAddr, peer: SocketAddr, syn: &Segment) {
        let opening = Opening { local, peer, irs: syn.seq.0 };
        let config = self.configs[usize::from(local.is_ipv6())][1].clone();
        let Some(cookie) = opening.cookie(&self.keys, now, syn) else {
            self.counters.backlog_drops += 1;
            return;
        };
        let syn_ack = Connection::syn_ack_for(&config, syn, cookie, opening.clock(&self.keys, now));
        if self.send_alone(port, local, peer, &syn_ack) {
            self.counters.cookies_sent += 1;
        }
        if let Some(listening) = self.listeners.get_mut(&local.port()) {
            listening.cookies_until = now + VALID;
        }
    }

    /// Opens a connection for an acknowledgment to a listening port with a valid SYN cookie. Other
    /// acknowledgments get a reset.
    pub(super) fn open_by_cookie(
        &mut self,
        now: Instant,
        port: &Port,
        local: SocketAddr,
        peer: SocketAddr,
        ack: &Segment,
    ) -> Option<u32> {
        let listening = self.listeners.get(&local.port())?;
        let (opening, cookie) = (Opening { local, peer, irs: (ack.seq - 1).0 }, ack.ack - 1);
        let expected = now < listening.cookies_until;
        let Some(syn) = expected.then(|| opening.syn(&self.keys, now, cookie, ack)).flatten() else {
            self.refuse(now, port, local, peer, ack);
            return None;
        };
        if listening.queue.is_full() {
            // The peer will retransmit it, or send data.
            self.counters.backlog_drops += 1;
            return None;
        }
        let id = self.admit(now, local, peer, Some(cookie))?;
        let clock = opening.clock(&self.keys, now);
        self.entry(id).connection.listen_after_syn_ack(now, &syn, clock);
        self.counters.cookies_taken += 1;
        Some(id)
    }

    /// True when connection `id` may process a segment: it makes neither a queue longer than the backlog nor
    /// the buffers larger than the limit.
    pub(super) fn has_room(&mut self, id: u32, segment: &Segment) -> bool {
        let Some(entry) = &self.entries[id as usize] else { return true };
        let waits = entry.listener.filter(|_| !entry.established && entry.app.is_none());
        let completes = segment.flags.has(Flags::ACK) && !segment.flags.any(Flags::SYN | Flags::RST);
        if completes && waits.and_then(|p| self.listeners.get(&p)).is_some_and(|l| l.queue.is_full()) {
            self.counters.backlog_drops += 1;
            return false;
        }
        let over = segment.len > 0
            && self.held_bytes > self.options.limits.held_bytes
            && entry.held_bytes > LEAST_SHARE;
        self.counters.memory_drops += u64::from(over);
        !over
    }

    /// Takes the next established connection of a listening port.
    pub(super) fn accept(&mut self, listening_port: u16) -> Option<u32> {
        let id = self.listeners.get_mut(&listening_port)?.queue.accept()?;
        let entry = self.entry(id);
        (entry.held, entry.listener) = (true, None);
        Some(id)
    }

    /// Stops listening, and resets connections that were not accepted.
    pub(super) fn unlisten(&mut self, now: Instant, port: &Port, listening_port: u16) {
        self.listeners.remove(&listening_port);
        for id in 0..self.entries.len() as u32 {
            if self.entries[id as usize].as_ref().is_some_and(|e| e.listener == Some(listening_port)) {
                self.operate(now, port, id, |entry| {
                    entry.listener = None;
                    entry.connection.abort(now);
                });
            }
        }
    }

    /// Moves a connection that was established to the accept queue, unless an application runs on it.
    pub(super) fn leave_half_open(&mut self, id: u32, entry: &mut ConnEntry) {
        entry.established = true;
        let Some(listening) = entry.listener.and_then(|p| self.listeners.get_mut(&p)) else { return };
        if entry.app.is_some() {
            listening.queue.leave();
            entry.listener = None;
        } else {
            listening.queue.establish(id);
            listening.changed.notify_one();
        }
    }

    /// Removes a half-open connection that is over from its listener.
    pub(super) fn leave_listener(&mut self, entry: &mut ConnEntry) {
        if let Some(listening) = entry.listener.take().and_then(|p| self.listeners.get_mut(&p)) {
            listening.queue.leave();
        }
    }
}
