//! All packets of a run, with their options.

use std::hint::black_box;

use ackclock_engine::Transmit;
use ackclock_policy::{PacketId, Queued};
use ackclock_units::{Instant, SeqNumber, seldom};
use ackclock_wire::{Flags, Options, SackBlocks, Segment, Timestamps};

use super::flags::KeptFlags;
use super::in_flight::{BLOCKS, DATAGRAM, KIND, NIL, OPTIONS, Packet, RETRANSMISSION, TIMESTAMPS};
use crate::fault::PacketInfo;
use crate::slab::Slab;

/// All packets of a run.
pub(crate) struct Pool {
    packets: Vec<Packet>,
    free: u32,
    options: Slab<Options>,
    blocks: Slab<SackBlocks>,
    timestamps: Slab<Timestamps>,
}

impl Pool {
    pub(crate) fn new() -> Self {
        Self {
            packets: Vec::new(),
            free: NIL,
            options: Slab::EMPTY,
            blocks: Slab::EMPTY,
            timestamps: Slab::EMPTY,
        }
    }

    #[inline]
    fn put(&mut self, packet: Packet) -> u32 {
        let id = self.free;
        if id == NIL {
            if self.packets.len() == self.packets.capacity() {
                self.make_room();
            }
            self.packets.push(packet);
            return self.packets.len() as u32 - 1;
        }
        let slot = &mut self.packets[id as usize];
        self.free = slot.next;
        *slot = packet;
        id
    }

    /// Accounts for a drop after `passed` links of a packet whose copies, sent at the same time, may still be
    /// in flight: on the links beyond, the copies no longer repeat its bytes.
    #[cold]
    pub(crate) fn lower_seen_of_copies(&mut self, dropped: &Packet, passed: u8) {
        let same = |p: &&mut Packet| {
            (p.from, p.position, p.position_high, p.len)
                == (dropped.from, dropped.position, dropped.position_high, dropped.len)
        };
        self.packets.iter_mut().filter(same).for_each(|p| p.seen = p.seen.min(passed));
    }

    /// Adds a packet with the segment of `t`. `retransmission` and `seen` come from the ground truth
    /// ([`crate::truth`]).
    #[inline(always)]
    pub(crate) fn segment(&mut self, from: u32, t: &Transmit, retransmission: bool, seen: u8) -> u32 {
        let s = &t.segment;
        let (mut more, mut bits) = (s.ack.0, 0);
        if seldom(s.flags.any(Flags::SYN) || !s.options.sack.is_empty() || has_more(&s.options)) {
            (more, bits) = self.keep_options(s);
        }
        if seldom(retransmission) {
            bits |= RETRANSMISSION;
        }
        let position = if s.len > 0 { t.offset } else { u64::from(s.seq.0) };
        let mut packet = Packet {
            position: position as u32,
            // 2^48 bytes are 256 TiB.
            position_high: (position >> 32) as u16,
            from,
            more,
            // `mss` is at most 65,495 (`ackclock_engine::OPTIONS`).
            len: s.len as u16,
            window: s.window,
            flags: KeptFlags::of(s.flags),
            bits,
            seen,
            ..Packet::FREE
        };
        packet.set_ecn(t.ecn);
        self.put(packet)
    }

    /// Stores a segment's options. Returns their index and the bits of their kind.
    #[inline(never)]
    fn keep_options(&mut self, s: &Segment) -> (u32, u8) {
        match s.options.timestamps {
            _ if s.flags.any(Flags::SYN) || s.options.accecn.is_some() => {
                (self.options.keep(s.ack, s.options), OPTIONS)
            }
            None => (self.blocks.keep(s.ack, s.options.sack), BLOCKS),
            Some(timestamps) if s.options.sack.is_empty() => {
                (self.timestamps.keep(s.ack, timestamps), TIMESTAMPS)
            }
            Some(_) => (self.options.keep(s.ack, s.options), OPTIONS),
        }
    }

    /// Adds a datagram of `bytes`. `number` is stored in the field of a segment's position.
    pub(crate) fn datagram(&mut self, from: u32, bytes: u32, number: u64) -> u32 {
        let (position, position_high) = (number as u32, (number >> 32) as u16);
        self.put(Packet { from, position, position_high, more: bytes, bits: DATAGRAM, ..Packet::FREE })
    }

    /// Duplicates a packet; returns the index of the copy.
    pub(crate) fn copy(&mut self, id: u32) -> u32 {
        let mut packet = self.packets[id as usize];
        match packet.bits & KIND {
            OPTIONS => packet.more = self.options.copy(packet.more),
            BLOCKS => packet.more = self.blocks.copy(packet.more),
            TIMESTAMPS => packet.more = self.timestamps.copy(packet.more),
            _ => {}
        }
        self.put(packet)
    }

    /// A packet's size on the wire.
    #[inline]
    pub(crate) fn bytes(&self, id: u32) -> u32 {
        self.bytes_of(self.get(id))
    }

    /// As [`Pool::bytes`], for a packet already looked up.
    #[inline]
    pub(crate) fn bytes_of(&self, p: &Packet) -> u32 {
        if p.is_datagram() {
            return p.more;
        }
        let options = if p.bits & KIND == 0 { 0 } else { self.options_of(p).1.wire_len() };
        IP_HEADER + TCP_HEADER + options + u32::from(p.len)
    }

    /// The acknowledgment number and the options of a segment that has some.
    #[inline(never)]
    fn options_of(&self, p: &Packet) -> (SeqNumber, Options) {
        match p.bits & KIND {
            TIMESTAMPS => {
                let (ack, timestamps) = self.timestamps.get(p.more);
                (ack, Options { timestamps: Some(timestamps), ..Options::default() })
            }
            BLOCKS => {
                let (ack, sack) = self.blocks.get(p.more);
                (ack, Options { sack, ..Options::default() })
            }
            _ => self.options.get(p.more),
        }
    }

    /// What a queue sees of the packet `p`, number `id`, which reaches it at `at`.
    #[inline(always)]
    pub(crate) fn queued(&self, id: u32, p: &Packet, at: Instant) -> Queued {
        Queued { id: PacketId(id), flow: p.from, bytes: self.bytes_of(p), ecn: p.ecn(), at }
    }

    /// What a link's faults see of a packet.
    pub(crate) fn packet_info(&self, id: u32) -> PacketInfo {
        let p = self.get(id);
        PacketInfo {
            bytes: self.bytes(id),
            kind: p.kind(),
            number: 0,
            flow: p.from / 2,
            offset: if p.len > 0 || p.is_datagram() { p.offset() } else { 0 },
            payload: u32::from(p.len),
            retransmission: p.is_retransmission(),
        }
    }

    /// Removes a packet and returns its segment. `first` is the sequence number of the sender's stream
    /// position 0.
    #[inline]
    pub(crate) fn take(&mut self, id: u32, first: SeqNumber) -> Segment {
        let p = &self.packets[id as usize];
        let seq = if p.len > 0 { first + p.position } else { SeqNumber(p.position) };
        let options = Options::default();
        let mut segment = Segment {
            seq,
            ack: SeqNumber(p.more),
            len: u32::from(p.len),
            window: p.window,
            flags: p.flags.all(),
            urgent: 0,
            options,
        };
        if seldom(p.bits & KIND != 0) {
            (segment.ack, segment.options) = self.options_of(p);
            self.free_options(id);
        }
        self.free_slot(id);
        segment
    }

    /// Removes a packet.
    #[inline]
    pub(crate) fn free(&mut self, id: u32) {
        if self.packets[id as usize].bits & KIND != 0 {
            self.free_options(id);
        }
        self.free_slot(id);
    }

    #[inline]
    fn free_slot(&mut self, id: u32) {
        let p = &mut self.packets[id as usize];
        p.from = NIL;
        p.next = self.free;
        self.free = id;
    }

    #[inline(never)]
    fn free_options(&mut self, id: u32) {
        let p = &self.packets[id as usize];
        match p.bits & KIND {
            TIMESTAMPS => self.timestamps.free(p.more),
            BLOCKS => self.blocks.free(p.more),
            _ => self.options.free(p.more),
        }
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> &Packet {
        &self.packets[id as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    /// Reads a packet to bring it into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, id: u32) {
        if let Some(p) = self.packets.get(id as usize) {
            // Its first and last fields: many packets straddle two cache lines.
            black_box((p.at, p.seen));
        }
    }

    /// As [`Pool::prefetch`], for the packet after it in its lane.
    #[inline]
    pub(crate) fn prefetch_next(&self, id: u32) {
        if let Some(p) = self.packets.get(id as usize) {
            self.prefetch(p.next);
        }
    }

    /// Doubles the capacity; beyond [`LARGE_POOL`] packets, adds a quarter.
    #[cold]
    fn make_room(&mut self) {
        let len = self.packets.len();
        self.packets.reserve_exact(if len < LARGE_POOL { len.max(64) } else { len / 4 });
    }

    /// Memory held by all packets and their options, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        let options = self.options.held_bytes() + self.blocks.held_bytes() + self.timestamps.held_bytes();
        (self.packets.capacity() * size_of::<Packet>()) as u64 + options
    }

    /// Number of slots, free ones included.
    pub(crate) fn slots(&self) -> u64 {
        self.packets.len() as u64
    }

    /// All packets in flight, by index.
    pub(crate) fn alive(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(|p| p.from != NIL)
    }

    #[cfg(test)]
    pub(crate) fn alive_ids(&self) -> impl Iterator<Item = u32> {
        self.packets.iter().enumerate().filter(|(_, p)| p.from != NIL).map(|(id, _)| id as u32)
    }
}

/// True for timestamps, or accurate ECN feedback.
#[inline]
fn has_more(options: &Options) -> bool {
    options.timestamps.is_some() | options.accecn.is_some()
}

/// From this many packets on, the pool grows by a quarter.
const LARGE_POOL: usize = 1 << 20;
/// An IPv4 header without options (RFC 791 §3.1): the simulated network's packets carry one.
const IP_HEADER: u32 = 20;
/// A TCP header without options (RFC 9293 §3.1).
const TCP_HEADER: u32 = 20;

#[cfg(test)]
#[path = "../tests/packet.rs"]
mod tests;
