//! One direction of the emulator: a link of the simulator that carries real packets. It has no clock and no
//! device.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ackclock_policy::{PacketId, Queued};
use ackclock_sim::{Carrier, Link, LinkCounters, PacketInfo, PacketKind};
use ackclock_units::{Bytes, Duration, Ecn, Instant};
use ackclock_wire::{Flags, Strictness, Transport, parse_ip_as};

use super::flow_numbers::{AddressPair, FlowNumbers};
use super::hosts::Hosts;

/// Packets in the queue and on the wire, indexed by number.
#[derive(Default)]
struct Held {
    packets: Vec<HeldPacket>,
    free: Vec<u32>,
    bytes: Bytes,
}

struct HeldPacket {
    bytes: Vec<u8>,
    /// Pending deliveries.
    deliveries: u8,
    about: Option<PacketInfo>,
    ecn: Ecn,
    flow: u32,
    /// Access delay from the link to its host.
    after: Duration,
}

/// Largest number of bytes in one direction. It suffices for 10 Gbit/s with 200 ms, and bounds unbounded
/// queues.
const MAX_HELD: Bytes = 256 << 20;

/// One direction.
pub(crate) struct Direction {
    link: Link,
    hosts: Hosts,
    flows: FlowNumbers,
    held: Held,
    /// Packets between their host and the link: time of arrival at the link, order of sending, number.
    entering: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    /// Packets to deliver: time, order of sending, number.
    due: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    order: u64,
    refused: u64,
}

impl Direction {
    pub(crate) fn new(link: Link, hosts: Hosts) -> Self {
        Self {
            link,
            hosts,
            flows: FlowNumbers::default(),
            held: Held::default(),
            entering: BinaryHeap::new(),
            due: BinaryHeap::new(),
            order: 0,
            refused: 0,
        }
    }

    /// Takes a packet at `now`, which must not be earlier than in a previous call.
    pub(crate) fn offer(&mut self, now: Instant, packet: &[u8]) {
        if self.held.bytes + packet.len() as Bytes > MAX_HELD {
            self.refused += 1;
            return;
        }
        let about = describe(packet);
        let (before, after) =
            about.ends.map_or((Duration::ZERO, Duration::ZERO), |(a, b)| self.hosts.delays((a.ip(), b.ip())));
        let flow = self.flows.number(about.ends);
        let id = self.held.insert(packet, &about, flow, after);
        if before.is_zero() {
            // The link takes packets in order of time, so earlier arrivals go first.
            self.enter(now);
            self.serve(now);
            return self.put(now, id);
        }
        self.entering.push(Reverse((now + before, self.order, id)));
        self.order += 1;
    }

    /// Offers packets to the link that have reached it by `now`, each with its own arrival time.
    fn enter(&mut self, now: Instant) {
        while let Some(&Reverse((at, _, id))) = self.entering.peek() {
            if at > now {
                break;
            }
            self.entering.pop();
            self.serve(at);
            self.put(at, id);
        }
    }

    /// Offers the link a packet.
    fn put(&mut self, at: Instant, id: u32) {
        let slot = &self.held.packets[id as usize];
        let (flow, bytes, ecn) = (slot.flow, slot.bytes.len() as u32, slot.ecn);
        self.carry(Queued { id: PacketId(id), flow, bytes, ecn, at });
    }

    /// Passes the packets that have arrived by `now` to `deliver` in order, with their due times.
    pub(crate) fn deliver(&mut self, now: Instant, mut deliver: impl FnMut(Instant, &[u8])) {
        self.enter(now);
        self.serve(now);
        while let Some(&Reverse((at, _, id))) = self.due.peek() {
            if at > now {
                break;
            }
            self.due.pop();
            deliver(at, self.held.bytes(id));
            self.held.delivered(id);
        }
    }

    /// When [`Direction::deliver`] must be called next.
    pub(crate) fn next(&self) -> Option<Instant> {
        let first =
            |heap: &BinaryHeap<Reverse<(Instant, u64, u32)>>| heap.peek().map(|Reverse((at, _, _))| *at);
        [first(&self.entering), first(&self.due), self.link.next_departure()].into_iter().flatten().min()
    }

    /// The link's counters.
    pub(crate) fn counters(&mut self, now: Instant) -> LinkCounters {
        self.link.counters(now)
    }

    /// Packets refused because [`MAX_HELD`] was reached.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }
}

impl Carrier for Direction {
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    fn packet_info(&self, id: PacketId) -> PacketInfo {
        self.held.about(id.0)
    }

    fn mark(&mut self, id: PacketId) {
        self.held.mark(id.0);
    }

    fn on_wire(&mut self, id: PacketId, corrupt: bool) {
        if corrupt {
            self.held.corrupt(id.0);
        }
    }

    fn copy(&mut self, id: PacketId) -> PacketId {
        // The same buffer is delivered twice.
        id
    }

    fn arrives(&mut self, id: PacketId, at: Instant) {
        let slot = &mut self.held.packets[id.0 as usize];
        slot.deliveries += 1;
        self.due.push(Reverse((at + slot.after, self.order, id.0)));
        self.order += 1;
    }

    fn lost(&mut self, id: PacketId) {
        self.held.remove(id.0);
    }
}

impl Held {
    fn insert(&mut self, packet: &[u8], about: &About, flow: u32, after: Duration) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.packets.push(HeldPacket {
                bytes: Vec::new(),
                deliveries: 0,
                about: None,
                ecn: Ecn::NotEct,
                flow: 0,
                after: Duration::ZERO,
            });
            // MAX_HELD keeps the number of packets far below 2^32.
            (self.packets.len() - 1) as u32
        });
        let slot = &mut self.packets[id as usize];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(packet);
        (slot.deliveries, slot.about, slot.ecn) = (0, Some(about.info), about.ecn);
        (slot.flow, slot.after) = (flow, after);
        self.bytes += packet.len() as Bytes;
        id
    }

    fn remove(&mut self, id: u32) {
        let slot = &mut self.packets[id as usize];
        if slot.about.take().is_some() {
            self.bytes -= slot.bytes.len() as Bytes;
            self.free.push(id);
        }
    }

    fn delivered(&mut self, id: u32) {
        let slot = &mut self.packets[id as usize];
        slot.deliveries = slot.deliveries.saturating_sub(1);
        if slot.deliveries == 0 {
            self.remove(id);
        }
    }

    fn about(&self, id: u32) -> PacketInfo {
        let slot = &self.packets[id as usize];
        slot.about.unwrap_or(PacketInfo::opaque(slot.bytes.len() as u32))
    }

    fn bytes(&self, id: u32) -> &[u8] {
        &self.packets[id as usize].bytes
    }

    /// Sets Congestion Experienced (RFC 3168 §5). The queue marks only ECN-capable packets.
    fn mark(&mut self, id: u32) {
        set_ce(&mut self.packets[id as usize].bytes);
    }

    /// Damages the last byte of the packet, which the transport checksum covers.
    fn corrupt(&mut self, id: u32) {
        if let Some(last) = self.packets[id as usize].bytes.last_mut() {
            *last ^= 0x20;
        }
    }
}

/// The parsed parts of a packet.
struct About {
    info: PacketInfo,
    ecn: Ecn,
    /// Source and destination addresses.
    ends: Option<AddressPair>,
}

/// Parses what faults, queues and access delays need of a packet. A packet that is not TCP or UDP over IP has
/// only a size.
fn describe(packet: &[u8]) -> About {
    let opaque = PacketInfo::opaque(packet.len() as u32);
    let Ok(ip) = parse_ip_as(packet, Strictness::CAPTURE) else {
        return About { info: opaque, ecn: Ecn::NotEct, ends: None };
    };
    let info = match ip.transport {
        Transport::Tcp(tcp) => {
            let flags = tcp.segment.flags;
            let kind = if flags.any(Flags::RST) {
                PacketKind::Reset
            } else if flags.any(Flags::SYN) {
                PacketKind::Syn
            } else if tcp.segment.len > 0 {
                PacketKind::Data
            } else if flags.any(Flags::FIN) {
                PacketKind::Fin
            } else {
                PacketKind::Ack
            };
            PacketInfo { kind, payload: tcp.segment.len, ..opaque }
        }
        Transport::Udp(_) => PacketInfo { kind: PacketKind::Datagram, ..opaque },
        Transport::Other { .. } => opaque,
    };
    About { info, ecn: ip.ecn, ends: Some(ip.endpoints()) }
}

/// Sets both bits of the ECN field, and updates the IPv4 header checksum (RFC 1624).
fn set_ce(packet: &mut [u8]) {
    match packet.first().map(|b| b >> 4) {
        Some(4) if packet.len() >= 20 => {
            let old = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= 3;
            let new = u16::from_be_bytes([packet[0], packet[1]]);
            let checksum = !u16::from_be_bytes([packet[10], packet[11]]);
            // HC' = ~(~HC + ~m + m') in ones' complement arithmetic.
            let mut sum = u32::from(checksum) + u32::from(!old) + u32::from(new);
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        }
        // Version, traffic class and flow label share the first four bytes; the ECN field is the lower half
        // of the traffic class.
        Some(6) if packet.len() >= 40 => packet[1] |= 0x30,
        _ => {}
    }
}

#[cfg(test)]
mod tests;
