//! Received packets: looks up their connection, opens connections, responds to segments without one.

use std::net::{IpAddr, SocketAddr};

use ackclock_units::Instant;
use ackclock_wire::{Flags, Segment, Strictness, Transport, parse_ip_as};

use super::core::Core;
use super::offload::split;
use crate::{Offload, Port};

impl Core {
    /// Handles a packet from the port.
    pub(super) fn packet(&mut self, now: Instant, port: &Port, bytes: &[u8]) {
        self.counters.packets_received += 1;
        let taken = if port.offload() {
            self.take_offloaded(now, port, bytes)
        } else {
            self.take(now, port, bytes, Strictness::FULL, None)
        };
        self.counters.ignored += u64::from(taken.is_none());
    }

    fn take_offloaded(&mut self, now: Instant, port: &Port, bytes: &[u8]) -> Option<()> {
        let about = Offload::from_bytes(bytes)?;
        let strict = if about.unchecked() { Strictness::FULL } else { Strictness::OFFLOAD };
        self.take(now, port, &bytes[Offload::LEN..], strict, about.segment_size())
    }

    /// Returns `None` for a packet that is ignored.
    fn take(
        &mut self,
        now: Instant,
        port: &Port,
        bytes: &[u8],
        strict: Strictness,
        size: Option<u16>,
    ) -> Option<()> {
        let packet = parse_ip_as(bytes, strict).ok()?;
        // A packet with one of our own addresses as source is spoofed (for example a LAND attack).
        if !self.own.contains(&packet.dst) || self.own.contains(&packet.src) || !is_valid_source(packet.src) {
            return None;
        }
        let Transport::Tcp(tcp) = &packet.transport else {
            return self.take_icmp(now, port, &packet, strict);
        };
        let (peer, local) = packet.endpoints();
        if let Some(id) = self.find(now, port, local, peer, &tcp.segment)
            && self.has_room(id, &tcp.segment)
        {
            self.operate(now, port, id, |entry| match size {
                // As with the kernel's receive offload: the segments are processed one by one, and
                // acknowledged together.
                Some(size) => {
                    let counts_marks = entry.connection.uses_accurate_ecn();
                    split(tcp, size, counts_marks).for_each(|(segment, payload)| {
                        entry.connection.handle_segment(now, &segment, payload, packet.ecn)
                    })
                }
                None => entry.connection.handle_segment(now, &tcp.segment, tcp.payload, packet.ecn),
            });
        }
        Some(())
    }

    /// The connection of a segment, which is a new one if the segment opens one. Responds to a segment
    /// without a connection.
    fn find(
        &mut self,
        now: Instant,
        port: &Port,
        local: SocketAddr,
        peer: SocketAddr,
        segment: &Segment,
    ) -> Option<u32> {
        let flags = segment.flags;
        let listens = self.listeners.contains_key(&local.port());
        let opens = listens && flags.has(Flags::SYN) && !flags.any(Flags::ACK | Flags::RST);
        match self.by_pair.get(&(local, peer)) {
            Some(&id) if opens && self.may_be_replaced(id, segment) => {
                self.by_pair.remove(&(local, peer));
                if let Some(entry) = self.entries[id as usize].take_if(|e| !e.held) {
                    self.forget(id, &entry);
                }
                self.half_open(now, port, local, peer, segment)
            }
            Some(&id) => Some(id),
            None if opens => self.half_open(now, port, local, peer, segment),
            // RFC 9293 §3.10.7.2: in LISTEN, what is neither RST, ACK nor SYN is dropped.
            None if listens && !flags.has(Flags::ACK) => None,
            None if listens && !flags.any(Flags::SYN | Flags::RST) => {
                self.open_by_cookie(now, port, local, peer, segment)
            }
            None => {
                self.refuse(now, port, local, peer, segment);
                None
            }
        }
    }

    /// True for a connection in TIME-WAIT that a new SYN may replace (RFC 9293 §3.6.1).
    fn may_be_replaced(&self, id: u32, syn: &Segment) -> bool {
        self.entries[id as usize].as_ref().is_some_and(|e| e.connection.may_be_replaced_by(syn))
    }
}

/// False for addresses that cannot be the source of a segment. Such packets are ignored without a response
/// (RFC 9293 §3.9.2.3, RFC 1122 §3.2.1.3).
fn is_valid_source(ip: IpAddr) -> bool {
    let invalid = match ip {
        // "This network" (RFC 1122 §3.2.1.3 (a) and (b)) and the broadcast address.
        IpAddr::V4(v4) => v4.octets()[0] == 0 || v4.is_broadcast(),
        // Mapped addresses never appear on the wire (RFC 4942 §2.2).
        IpAddr::V6(v6) => v6.to_ipv4_mapped().is_some(),
    };
    // RFC 1122 §3.2.1.3 (g): loopback addresses stay inside a host.
    !(invalid || ip.is_loopback() || ip.is_multicast() || ip.is_unspecified())
}
