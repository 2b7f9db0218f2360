//! ICMP errors, and the connections that they are about.

use ackclock_units::Instant;
use ackclock_wire::{IpPacket, Strictness, parse_icmp_error};

use super::core::Core;
use crate::Port;

impl Core {
    /// Directs an ICMP error to the connection whose segment it quotes (RFC 9293 §3.9.2.2, MUST-54). `None`
    /// when it is nothing of that kind.
    #[cold]
    pub(super) fn take_icmp(
        &mut self,
        now: Instant,
        port: &Port,
        packet: &IpPacket<'_>,
        strict: Strictness,
    ) -> Option<()> {
        let error = parse_icmp_error(packet, strict).ok()?;
        // An error goes to whoever sent what it quotes (RFC 1122 §3.2.2).
        if error.from.ip() != packet.dst {
            return None;
        }
        let id = *self.by_pair.get(&(error.from, error.to))?;
        self.counters.icmp_errors += 1;
        self.operate(now, port, id, |entry| entry.connection.handle_icmp(now, &error));
        Some(())
    }
}
