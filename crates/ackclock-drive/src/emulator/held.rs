//! The packets inside the emulator.

use ackclock_sim::PacketInfo;
use ackclock_units::{Bytes, Ecn, SeqNumber};
use ackclock_wire::SackBlocks;

use super::packet::{About, set_ce};
use super::routes::Way;

/// Packets in queues, on wires and in access delays, indexed by number.
#[derive(Default)]
pub(super) struct Held {
    pub(super) packets: Vec<HeldPacket>,
    pub(super) free: Vec<u32>,
    pub(super) bytes: Bytes,
}

/// A packet and where it goes.
pub(super) struct HeldPacket {
    pub(super) bytes: Vec<u8>,
    /// `None` for a free place.
    about: Option<PacketInfo>,
    pub(super) ecn: Ecn,
    pub(super) flow: u32,
    /// What it reports as arrived out of order.
    pub(super) sacked: SackBlocks,
    pub(super) way: Way,
    /// Links that it has passed.
    pub(super) hop: u8,
    /// Links that an earlier copy of its payload has passed.
    pub(super) seen: u8,
    /// What it acknowledges.
    pub(super) ack: Option<SeqNumber>,
    /// A fault has damaged it.
    pub(super) damaged: bool,
}

/// Largest number of bytes. It suffices for 10 Gbit/s with 400 ms, and bounds unbounded queues.
const MAX_HELD: Bytes = 512 << 20;

impl Held {
    /// True when there is no room for a packet of this size.
    pub(super) fn is_full(&self, bytes: usize) -> bool {
        self.bytes + bytes as Bytes > MAX_HELD
    }

    pub(super) fn insert(&mut self, packet: &[u8], about: &About, flow: u32, way: Way) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.packets.push(HeldPacket {
                bytes: Vec::new(),
                about: None,
                ecn: Ecn::NotEct,
                flow: 0,
                sacked: SackBlocks::NONE,
                way,
                hop: 0,
                seen: 0,
                ack: None,
                damaged: false,
            });
            // MAX_HELD keeps the number of packets far below 2^32.
            (self.packets.len() - 1) as u32
        });
        let place = &mut self.packets[id as usize];
        place.bytes.clear();
        place.bytes.extend_from_slice(packet);
        (place.about, place.ecn, place.flow) = (Some(about.info), about.ecn, flow);
        (place.sacked, place.way, place.hop) = (about.sacked, way, 0);
        (place.seen, place.ack, place.damaged) = (about.seen, about.ack(), false);
        self.bytes += packet.len() as Bytes;
        id
    }

    /// A second packet like this one.
    pub(super) fn copy(&mut self, id: u32) -> u32 {
        let place = &mut self.packets[id as usize];
        let (info, ecn, sacked, seen) = (place.info(), place.ecn, place.sacked, place.seen);
        let (hop, ack, damaged) = (place.hop, place.ack, place.damaged);
        let about = About { info, ecn, ends: None, segment: None, sacked, seen };
        let (flow, way, bytes) = (place.flow, place.way, std::mem::take(&mut place.bytes));
        let copy = self.insert(&bytes, &about, flow, way);
        self.packets[id as usize].bytes = bytes;
        let second = &mut self.packets[copy as usize];
        (second.hop, second.ack, second.damaged) = (hop, ack, damaged);
        copy
    }

    pub(super) fn remove(&mut self, id: u32) {
        let place = &mut self.packets[id as usize];
        if place.about.take().is_some() {
            self.bytes -= place.bytes.len() as Bytes;
            self.free.push(id);
        }
    }

    /// Sets Congestion Experienced (RFC 3168 §5). The queue marks only ECN-capable packets.
    pub(super) fn mark(&mut self, id: u32) {
        let place = &mut self.packets[id as usize];
        place.ecn = Ecn::Ce;
        set_ce(&mut place.bytes);
    }

    /// Damages the last byte of the packet, which the transport checksum covers.
    pub(super) fn corrupt(&mut self, id: u32) {
        let place = &mut self.packets[id as usize];
        // Where it arrives, its checksum fails.
        (place.sacked, place.ack, place.damaged) = (SackBlocks::NONE, None, true);
        if let Some(last) = place.bytes.last_mut() {
            *last ^= 0x20;
        }
    }
}

impl HeldPacket {
    pub(super) fn info(&self) -> PacketInfo {
        self.about.unwrap_or(PacketInfo::opaque(self.bytes.len() as u32))
    }
}
