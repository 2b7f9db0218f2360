//! Packets in flight: 48 bytes each, recycled.

use std::hint::black_box;

use ackclock_engine::Transmit;
use ackclock_units::{Ecn, Instant, SeqNumber};
use ackclock_wire::{Flags, Options, Segment, Timestamps};

use crate::fault::{Kind, Passing};

/// A packet somewhere between two endpoints. What is rare (SYN options, SACK blocks) lies in a slab beside. What follows from something else is
/// not kept: a run holds many of these, and its speed is that of the memory they take.
#[derive(Clone, Copy)]
pub(crate) struct Packet {
    /// When it reaches the next place on its way.
    pub(crate) at: Instant,
    /// Its insertion number there, for ties: the lower 32 of 48 bits, the upper 16 below.
    order: u32,
    /// With payload, the true position of its first byte in the sender's stream: the lower 32 of 48 bits, the upper 16 below. Without, its sequence
    /// number. Of a datagram, its number.
    place: u32,
    /// The endpoint that sent it; [`NIL`] in a free place.
    pub(crate) from: u32,
    /// The packet behind it in its lane, or the next free place.
    pub(crate) next: u32,
    ack: SeqNumber,
    /// Its timestamp, or where its options are in the slab, or the size of a datagram.
    tsval: u32,
    tsecr: u32,
    order_high: u16,
    place_high: u16,
    pub(crate) len: u16,
    window: u16,
    pub(crate) flags: Flags,
    bits: u8,
    /// Links of its route that it has left behind (or is on the way of).
    pub(crate) hop: u8,
    /// Links that an earlier copy of its payload has passed: a later pass repeats bytes.
    pub(crate) seen: u8,
}

const ECN: u8 = 3;
const RETRANSMISSION: u8 = 1 << 2;
const CORRUPT: u8 = 1 << 3;
const TIMESTAMPS: u8 = 1 << 4;
const DATAGRAM: u8 = 1 << 5;
const WAITS: u8 = 1 << 6;
const OPTIONS: u8 = 1 << 7;

pub(crate) const NIL: u32 = u32::MAX;

impl Packet {
    const FREE: Self = Self {
        at: Instant::ZERO,
        order: 0,
        place: 0,
        from: NIL,
        next: NIL,
        ack: SeqNumber(0),
        tsval: 0,
        tsecr: 0,
        order_high: 0,
        place_high: 0,
        len: 0,
        window: 0,
        flags: Flags(0),
        bits: 0,
        hop: 0,
        seen: 0,
    };

    /// Its insertion number where it goes next, for ties.
    #[inline]
    pub(crate) fn order(&self) -> u64 {
        u64::from(self.order_high) << 32 | u64::from(self.order)
    }

    /// Says when it reaches the next place, and its insertion number there, below 2^48: a run of months.
    #[inline]
    pub(crate) fn arrives(&mut self, at: Instant, order: u64) {
        (self.at, self.order, self.order_high) = (at, order as u32, (order >> 32) as u16);
    }

    /// True position of its first payload byte in the sender's stream; meaningless without payload.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        u64::from(self.place_high) << 32 | u64::from(self.place)
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

    /// True for what carries payload, as [`Kind::is_data`].
    #[inline]
    pub(crate) fn is_data(&self) -> bool {
        self.len > 0 && !self.flags.any(Flags::SYN) || self.is_datagram()
    }

    pub(crate) fn kind(&self) -> Kind {
        if self.is_datagram() {
            return Kind::Datagram;
        }
        match self.flags {
            f if f.any(Flags::SYN) => Kind::Syn,
            _ if self.len > 0 => Kind::Data,
            f if f.any(Flags::RST) => Kind::Reset,
            f if f.any(Flags::FIN) => Kind::Fin,
            _ => Kind::Ack,
        }
    }
}

/// All packets of a run.
pub(crate) struct Pool {
    packets: Vec<Packet>,
    free: u32,
    options: Vec<Options>,
    free_options: Vec<u32>,
}

impl Pool {
    pub(crate) fn new() -> Self {
        Self { packets: Vec::new(), free: NIL, options: Vec::new(), free_options: Vec::new() }
    }

    #[inline]
    fn put(&mut self, packet: Packet) -> u32 {
        let id = self.free;
        if id == NIL {
            self.packets.push(packet);
            return self.packets.len() as u32 - 1;
        }
        let place = &mut self.packets[id as usize];
        self.free = place.next;
        *place = packet;
        id
    }

    /// A packet with the segment of `t`. `retransmission` and `seen` are the world's own knowledge.
    #[inline]
    pub(crate) fn segment(&mut self, from: u32, t: &Transmit, retransmission: bool, seen: u8) -> u32 {
        let s = &t.segment;
        let (mut tsval, mut tsecr, mut bits) = (0, 0, 0);
        if !s.options.sack.is_empty() || s.flags.any(Flags::SYN) {
            (tsval, bits) = (self.keep(s.options), OPTIONS);
        } else if let Some(timestamps) = s.options.timestamps {
            (tsval, tsecr, bits) = (timestamps.tsval, timestamps.tsecr, TIMESTAMPS);
        }
        if retransmission {
            bits |= RETRANSMISSION;
        }
        let place = if s.len > 0 { t.offset } else { u64::from(s.seq.0) };
        let mut packet = Packet {
            place: place as u32,
            // 2^48 bytes are 256 TiB.
            place_high: (place >> 32) as u16,
            from,
            ack: s.ack,
            tsval,
            tsecr,
            // `mss` is at most 65,495 (`ackclock_engine::OPTIONS`).
            len: s.len as u16,
            window: s.window,
            flags: s.flags,
            bits,
            seen,
            ..Packet::FREE
        };
        packet.set_ecn(t.ecn);
        self.put(packet)
    }

    /// A datagram of that size; `number` stands where segments have their position.
    pub(crate) fn datagram(&mut self, from: u32, bytes: u32, number: u64) -> u32 {
        let (place, place_high) = (number as u32, (number >> 32) as u16);
        self.put(Packet { from, place, place_high, tsval: bytes, bits: DATAGRAM, ..Packet::FREE })
    }

    /// A second packet like that one.
    pub(crate) fn copy(&mut self, id: u32) -> u32 {
        let mut packet = self.packets[id as usize];
        if packet.bits & OPTIONS != 0 {
            packet.tsval = self.keep(self.options[packet.tsval as usize]);
        }
        self.put(packet)
    }

    /// A packet's size on the wire.
    #[inline]
    pub(crate) fn bytes(&self, id: u32) -> u32 {
        let p = &self.packets[id as usize];
        let options = match p.bits & (OPTIONS | TIMESTAMPS | DATAGRAM) {
            0 => 0,
            TIMESTAMPS => TIMESTAMPS_LEN,
            OPTIONS => self.options[p.tsval as usize].wire_len(),
            _ => return p.tsval,
        };
        IP_HEADER + TCP_HEADER + options + u32::from(p.len)
    }

    /// What a link's faults may know of a packet.
    pub(crate) fn passing(&self, id: u32) -> Passing {
        let p = self.get(id);
        Passing {
            bytes: self.bytes(id),
            kind: p.kind(),
            number: 0,
            flow: p.from / 2,
            offset: if p.len > 0 || p.is_datagram() { p.offset() } else { 0 },
            payload: u32::from(p.len),
            retransmission: p.is_retransmission(),
        }
    }

    fn keep(&mut self, options: Options) -> u32 {
        match self.free_options.pop() {
            Some(place) => {
                self.options[place as usize] = options;
                place
            }
            None => {
                self.options.push(options);
                self.options.len() as u32 - 1
            }
        }
    }

    /// The segment that a packet carried; its place is free again. `first` is the sequence number of the sender's stream position 0.
    #[inline]
    pub(crate) fn take(&mut self, id: u32, first: SeqNumber) -> Segment {
        let p = &mut self.packets[id as usize];
        let options = match p.bits & (OPTIONS | TIMESTAMPS) {
            0 => Options::default(),
            TIMESTAMPS => Options { timestamps: Some(Timestamps { tsval: p.tsval, tsecr: p.tsecr }), ..Options::default() },
            _ => self.options[p.tsval as usize],
        };
        let seq = if p.len > 0 { first + p.place } else { SeqNumber(p.place) };
        let segment = Segment { seq, ack: p.ack, len: u32::from(p.len), window: p.window, flags: p.flags, urgent: 0, options };
        self.free(id);
        segment
    }

    /// Frees a packet's place.
    #[inline]
    pub(crate) fn free(&mut self, id: u32) {
        let p = &mut self.packets[id as usize];
        if p.bits & OPTIONS != 0 {
            self.free_options.push(p.tsval);
        }
        p.from = NIL;
        p.next = self.free;
        self.free = id;
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> &Packet {
        &self.packets[id as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    /// Reads a packet so that it is near when it is needed.
    #[inline]
    pub(crate) fn glance(&self, id: u32) {
        if let Some(p) = self.packets.get(id as usize) {
            black_box(p.from);
        }
    }

    /// The same for the packet behind it in its lane.
    #[inline]
    pub(crate) fn glance_behind(&self, id: u32) {
        if let Some(p) = self.packets.get(id as usize) {
            self.glance(p.next);
        }
    }

    /// Those in flight, in the order of their places.
    pub(crate) fn alive(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(|p| p.from != NIL)
    }

    #[cfg(test)]
    pub(crate) fn alive_ids(&self) -> impl Iterator<Item = u32> {
        self.packets.iter().enumerate().filter(|(_, p)| p.from != NIL).map(|(id, _)| id as u32)
    }
}

/// Timestamps with the two NOPs before them (RFC 7323 appendix A).
const TIMESTAMPS_LEN: u32 = 12;
/// An IPv4 header without options (RFC 791 §3.1): the simulated network's packets carry one.
const IP_HEADER: u32 = 20;
/// A TCP header without options (RFC 9293 §3.1).
const TCP_HEADER: u32 = 20;

#[cfg(test)]
#[path = "tests/packet.rs"]
mod tests;
