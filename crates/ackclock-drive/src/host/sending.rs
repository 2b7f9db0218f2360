//! Sends segments of connections, and responses to segments without a connection.

use std::net::SocketAddr;

use ackclock_engine::Connection;
use ackclock_units::{Ecn, Instant};
use ackclock_wire::{Segment, emit_tcp};

use super::core::{ConnEntry, Core};
use super::offload::Batch;
use crate::{Offload, Port};

impl Core {
    /// Sends a reset in response to a segment without a connection, if one is due (RFC 9293 §3.10.7.1).
    pub(super) fn refuse(
        &mut self,
        now: Instant,
        port: &Port,
        local: SocketAddr,
        peer: SocketAddr,
        segment: &Segment,
    ) {
        let Some(reset) = Connection::reset_for(segment) else { return };
        if !self.resets.allows(now) {
            self.counters.resets_withheld += 1;
            return;
        }
        if self.send_alone(port, local, peer, &reset) {
            self.counters.resets_sent += 1;
        }
    }

    /// Sends a segment without a connection. True when it could be encoded.
    pub(super) fn send_alone(
        &mut self,
        port: &Port,
        local: SocketAddr,
        peer: SocketAddr,
        segment: &Segment,
    ) -> bool {
        self.scratch.clear();
        if port.offload() {
            // The checksum is complete and there is one segment.
            self.scratch.extend_from_slice(&Offload::default().to_bytes());
        }
        let made = emit_tcp(local, peer, segment, &[], Ecn::NotEct, &mut self.scratch).is_ok();
        if made {
            self.send_scratch(port);
        }
        made
    }

    fn send_scratch(&mut self, port: &Port) {
        match port.send(&self.scratch) {
            Ok(()) => self.counters.packets_sent += 1,
            Err(_) => self.counters.send_failures += 1,
        }
    }

    pub(super) fn transmit(&mut self, now: Instant, port: &Port, entry: &mut ConnEntry) {
        let offload = port.offload();
        let mut batch: Option<Batch> = None;
        while let Some(out) = entry.connection.poll_transmit(now) {
            if offload && batch.as_mut().is_some_and(|b| b.add(&out)) {
                continue;
            }
            if let Some(ready) = batch.replace(Batch::new(out)) {
                self.send_batch(port, entry, &ready, offload);
            }
        }
        if let Some(ready) = batch {
            self.send_batch(port, entry, &ready, offload);
        }
    }

    fn send_batch(&mut self, port: &Port, entry: &ConnEntry, batch: &Batch, offload: bool) {
        self.scratch.clear();
        match batch.emit(entry.local, entry.peer, &entry.connection, offload, &mut self.scratch) {
            Ok(()) => self.send_scratch(port),
            // Cannot happen, since the engine keeps segments within the MTU; the packet is then lost.
            Err(_) => self.counters.send_failures += 1,
        }
    }
}
