//! Listening ports, and the connections that wait at them: half open, or established and not accepted. As
//! with kernels each of the two queues may be as long as the backlog; when the first one is full, SYNs are
//! answered without keeping anything.

use std::net::SocketAddr;

use ackclock_engine::Connection;
use ackclock_units::{Bytes, Instant, SeqNumber};
use ackclock_wire::{Flags, Segment};

use super::backlog::Listening;
use super::cookies::{Opening, VALID};
use super::core::{Core, Entry};
use crate::Port;

/// What a connection's buffers may hold however much others hold: some segments, so that it goes on while its
/// program reads.
const LEAST_SHARE: Bytes = 16_384;

impl Core {
    /// A connection for a SYN to a listening port. `None` when its queues are full: then it is answered
    /// without one, or the peer will try again.
    pub(super) fn half_open(
        &mut self,
        now: Instant,
        port: &Port,
        local: SocketAddr,
        peer: SocketAddr,
        syn: &Segment,
    ) -> Option<u32> {
        let listening = self.listeners.get_mut(&local.port())?;
        if listening.is_full()
            || (listening.half_open >= listening.backlog && !self.options.limits.syn_cookies)
        {
            self.counters.backlog_drops += 1;
            return None;
        }
        if listening.half_open >= listening.backlog {
            self.answer_by_cookie(now, port, local, peer, syn);
            return None;
        }
        let id = self.seat(now, local, peer, None)?;
        self.entry(id).connection.listen();
        Some(id)
    }

    /// A place in the table, and among those that are half open; `None` where no application is left for it.
    fn seat(
        &mut self,
        now: Instant,
        local: SocketAddr,
        peer: SocketAddr,
        iss: Option<SeqNumber>,
    ) -> Option<u32> {
        let iss = iss.unwrap_or_else(|| self.initial_number(now, local, peer));
        let listening = self.listeners.get_mut(&local.port())?;
        let guest = match &mut listening.service {
            Some(service) => Some(service(local)?),
            None => None,
        };
        listening.half_open += 1;
        Some(self.insert(now, local, peer, iss, Some(local.port()), guest))
    }

    fn answer_by_cookie(
        &mut self,
        now: Instant,
        port: &Port,
        local: SocketAddr,
        peer: SocketAddr,
        syn: &Segment,
    ) {
        let opening = Opening { local, peer, irs: syn.seq.0 };
        let config = self.configs[usize::from(local.is_ipv6())][1].clone();
        let Some(cookie) = opening.cookie(&self.keys, now, syn) else {
            self.counters.backlog_drops += 1;
            return;
        };
        let answer = Connection::syn_ack_for(&config, syn, cookie, opening.clock(&self.keys, now));
        if self.answer(port, local, peer, &answer) {
            self.counters.cookies_sent += 1;
        }
        if let Some(listening) = self.listeners.get_mut(&local.port()) {
            listening.cookies_until = now + VALID;
        }
    }

    /// A connection for an acknowledgment to a listening port, if it answers a cookie of ours. It is refused
    /// where it does not.
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
        if listening.is_full() {
            // The peer will send it again, or its data.
            self.counters.backlog_drops += 1;
            return None;
        }
        let id = self.seat(now, local, peer, Some(cookie))?;
        let clock = opening.clock(&self.keys, now);
        self.entry(id).connection.listen_after_syn_ack(now, &syn, clock);
        self.counters.cookies_taken += 1;
        Some(id)
    }

    /// True when connection `id` may take a segment in: not where it would make a queue longer than the
    /// backlog, or buffers larger than they may be.
    pub(super) fn has_room(&mut self, id: u32, segment: &Segment) -> bool {
        let Some(entry) = &self.entries[id as usize] else { return true };
        let waits = entry.listener.filter(|_| !entry.established && entry.guest.is_none());
        let completes = segment.flags.has(Flags::ACK) && !segment.flags.any(Flags::SYN | Flags::RST);
        if completes && waits.and_then(|p| self.listeners.get(&p)).is_some_and(Listening::is_full) {
            self.counters.backlog_drops += 1;
            return false;
        }
        let over = segment.len > 0
            && self.held_bytes > self.options.limits.held_bytes
            && entry.held_bytes > LEAST_SHARE;
        self.counters.memory_drops += u64::from(over);
        !over
    }

    /// The next connection that waits at a listening port.
    pub(super) fn accept(&mut self, listening_port: u16) -> Option<u32> {
        let id = self.listeners.get_mut(&listening_port)?.ready.pop_front()?;
        let entry = self.entry(id);
        (entry.held, entry.listener) = (true, None);
        Some(id)
    }

    /// Stops listening, and resets what nobody accepted.
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

    /// A connection is established: it waits to be accepted, unless an application is above it.
    pub(super) fn leave_half_open(&mut self, id: u32, entry: &mut Entry) {
        entry.established = true;
        let Some(listening) = entry.listener.and_then(|p| self.listeners.get_mut(&p)) else { return };
        listening.half_open -= 1;
        if entry.guest.is_some() {
            entry.listener = None;
        } else {
            listening.ready.push_back(id);
            listening.changed.notify_one();
        }
    }

    /// A half-open connection is over.
    pub(super) fn leave_listener(&mut self, entry: &mut Entry) {
        if let Some(listening) = entry.listener.take().and_then(|p| self.listeners.get_mut(&p)) {
            listening.half_open -= 1;
        }
    }
}
