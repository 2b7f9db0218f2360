//! Packets in flight: 36 bytes each, in a pool.

mod flags;
mod room;

use std::hint::black_box;

use ackclock_engine::Transmit;
use ackclock_policy::{PacketId, Queued};
use ackclock_units::{Ecn, Instant, SeqNumber, seldom};
use ackclock_wire::{Flags, Options, SackBlocks, Segment, Timestamps};

use self::flags::KeptFlags;
use crate::fault::{PacketInfo, PacketKind};
use crate::slab::Slab;

/// A packet between two endpoints. Its TCP options (SACK blocks, timestamps, those of a SYN) are stored in
/// separate slabs. Fields that can be derived from others are left out: a run holds many packets, and memory
/// traffic limits its speed.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Packet {
    /// When it reaches the next link or its endpoint: the lower 32 of 48 bits, the upper 16 in `at_high`. The
    /// present time gives the remaining bits.
    at: u32,
    /// Its insertion number there, for ties: the lower 32 bits. The latest insertion number gives the
    /// remaining bits.
    order: u32,
    /// With payload, the position of its first byte in the sender's stream: the lower 32 of 48 bits, the
    /// upper 16 in `position_high`. Without payload, its sequence number. Of a datagram, its number.
    position: u32,
    /// The endpoint that sent it; [`NIL`] in a free slot.
    pub(crate) from: u32,
    /// The packet after it in its lane; in a free slot, the next free one.
    pub(crate) next: u32,
    /// Its acknowledgment number; with options, the index of both in the slab of these options. Of a
    /// datagram, its size.
    more: u32,
    at_high: u16,
    position_high: u16,
    pub(crate) len: u16,
    window: u16,
    pub(crate) flags: KeptFlags,
    bits: u8,
    /// Links of its route that it has passed, the one whose wire it is on included.
    pub(crate) hop: u8,
    /// Links that an earlier copy of its payload has passed: on these links it repeats bytes.
    pub(crate) seen: u8,
}

const ECN: u8 = 3;
const RETRANSMISSION: u8 = 1 << 2;
const CORRUPT: u8 = 1 << 3;
/// Timestamps and no other option.
const TIMESTAMPS: u8 = 1 << 4;
const DATAGRAM: u8 = 1 << 5;
const WAITS: u8 = 1 << 6;
/// Other options: those of a SYN, or several kinds.
const OPTIONS: u8 = 1 << 7;
/// Both bits: SACK blocks and no other option.
const BLOCKS: u8 = TIMESTAMPS | OPTIONS;
/// The bits that encode the kind of options.
const KIND: u8 = TIMESTAMPS | OPTIONS;

pub(crate) const NIL: u32 = u32::MAX;

impl Packet {
    const FREE: Self = Self {
        at: 0,
        order: 0,
        position: 0,
        from: NIL,
        next: NIL,
        more: 0,
        at_high: 0,
        position_high: 0,
        len: 0,
        window: 0,
        flags: KeptFlags::NONE,
        bits: 0,
        hop: 0,
        seen: 0,
    };

    /// Nanoseconds after which its 48 bits of time wrap: more than three days.
    pub(crate) const SPAN: u64 = 1 << 48;

    /// When it reaches the next link or its endpoint. `now` must not be later than that, and less than
    /// [`Packet::SPAN`] earlier.
    #[inline]
    pub(crate) fn at(&self, now: Instant) -> Instant {
        let at = u64::from(self.at_high) << 32 | u64::from(self.at);
        let now = now.as_nanos();
        Instant::from_nanos(now.wrapping_add(at.wrapping_sub(now) & (Self::SPAN - 1)))
    }

    /// Its insertion number, for ties. `latest` is the one given out last, fewer than 2^32 later.
    #[inline]
    pub(crate) fn order(&self, latest: u64) -> u64 {
        latest - u64::from((latest as u32).wrapping_sub(self.order))
    }

    /// Sets when it reaches the next link or its endpoint, and its insertion number there.
    #[inline]
    pub(crate) fn arrives(&mut self, at: Instant, order: u64) {
        let at = at.as_nanos();
        (self.at, self.at_high, self.order) = (at as u32, (at >> 32) as u16, order as u32);
    }

    /// Position of its first payload byte in the sender's stream; meaningless without payload.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        u64::from(self.position_high) << 32 | u64::from(self.position)
    }

    pub(crate) fn ecn(&self) -> Ecn {
        match self.bits & ECN {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    pub(crate) fn set_ecn(&mut self, ecn: Ecn) {
        let code = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        self.bits = self.bits & !ECN | code;
    }

    pub(crate) fn is_corrupt(&self) -> bool {
        self.bits & CORRUPT != 0
    }

    pub(crate) fn set_corrupt(&mut self) {
        self.bits |= CORRUPT;
    }

    /// True while it is in the queue of a link that must be polled.
    pub(crate) fn waits(&self) -> bool {
        self.bits & WAITS != 0
    }

    pub(crate) fn set_waits(&mut self, waits: bool) {
        self.bits = if waits { self.bits | WAITS } else { self.bits & !WAITS };
    }

    pub(crate) fn is_datagram(&self) -> bool {
        self.bits & DATAGRAM != 0
    }

    pub(crate) fn is_retransmission(&self) -> bool {
        self.bits & RETRANSMISSION != 0
    }

    /// First stream position past its payload.
    pub(crate) fn end(&self) -> u64 {
        self.offset() + u64::from(self.len)
    }

    /// True when it carries payload, as [`PacketKind::is_data`].
    #[inline]
    pub(crate) fn is_data(&self) -> bool {
        self.len > 0 && !self.flags.any(Flags::SYN) || self.is_datagram()
    }

    pub(crate) fn kind(&self) -> PacketKind {
        if self.is_datagram() {
            return PacketKind::Datagram;
        }
        match self.flags.all() {
            f if f.any(Flags::SYN) => PacketKind::Syn,
            _ if self.len > 0 => PacketKind::Data,
            f if f.any(Flags::RST) => PacketKind::Reset,
            f if f.any(Flags::FIN) => PacketKind::Fin,
            _ => PacketKind::Ack,
        }
    }
}

/// True for timestamps, or accurate ECN feedback.
#[inline]
fn has_more(options: &Options) -> bool {
    options.timestamps.is_some() | options.accecn.is_some()
}

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

    /// All packets in flight, by index.
    pub(crate) fn alive(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(|p| p.from != NIL)
    }

    #[cfg(test)]
    pub(crate) fn alive_ids(&self) -> impl Iterator<Item = u32> {
        self.packets.iter().enumerate().filter(|(_, p)| p.from != NIL).map(|(id, _)| id as u32)
    }
}

/// An IPv4 header without options (RFC 791 §3.1): the simulated network's packets carry one.
const IP_HEADER: u32 = 20;
/// A TCP header without options (RFC 9293 §3.1).
const TCP_HEADER: u32 = 20;

#[cfg(test)]
#[path = "tests/packet.rs"]
mod tests;
