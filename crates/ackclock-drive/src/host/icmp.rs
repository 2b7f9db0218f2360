//! Passes ICMP errors to their connections.

use ackclock_units::Instant;
use ackclock_wire::{IpPacket, Strictness, parse_icmp_error};

use super::core::Core;
use crate::Port;

impl Core {
    /// Passes an ICMP error to the connection whose segment it quotes (RFC 9293 §3.9.2.2, MUST-54). `None`
    /// for any other packet.
    #[cold]
    pub(super) fn take_icmp(
        &mut self,
        now: Instant,
        port: &Port,
        packet: &IpPacket<'_>,
        strict: Strictness,
    ) -> Option<()> {
        let error = parse_icmp_error(packet, strict).ok()?;
        // An error is addressed to the sender of the packet that it quotes (RFC 1122 §3.2.2).
        if error.from.ip() != packet.dst {
            return None;
        }
        let id = *self.by_pair.get(&(error.from, error.to))?;
        self.counters.icmp_errors += 1;
        self.operate(now, port, id, |entry| entry.connection.handle_icmp(now, &error));
        Some(())
    }
}
