//! A packet in flight, in 36 bytes.

use ackclock_units::{Ecn, Instant};
use ackclock_wire::Flags;

use super::flags::KeptFlags;
use crate::fault::PacketKind;

/// A packet between two endpoints. Its TCP options (SACK blocks, timestamps, those of a SYN) are stored in
/// separate slabs. Fields that can be derived from others are left out: a run holds many packets, and memory
/// traffic limits its speed.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Packet {
    /// When it reaches the next link or its endpoint: the lower 32 of 48 bits, the upper 16 in `at_high`. The
    /// present time gives the remaining bits.
    pub(super) at: u32,
    /// Its insertion number there, for ties: the lower 32 bits. The latest insertion number gives the
    /// remaining bits.
    pub(super) order: u32,
    /// With payload, the position of its first byte in the sender's stream: the lower 32 of 48 bits, the
    /// upper 16 in `position_high`. Without payload, its sequence number. Of a datagram, its number.
    pub(super) position: u32,
    /// The endpoint that sent it; [`NIL`] in a free slot.
    pub(crate) from: u32,
    /// The packet after it in its lane; in a free slot, the next free one.
    pub(crate) next: u32,
    /// Its acknowledgment number; with options, the index of both in the slab of these options. Of a
    /// datagram, its size.
    pub(super) more: u32,
    pub(super) at_high: u16,
    pub(super) position_high: u16,
    pub(crate) len: u16,
    pub(super) window: u16,
    pub(crate) flags: KeptFlags,
    pub(super) bits: u8,
    /// Links of its route that it has passed, the one whose wire it is on included.
    pub(crate) hop: u8,
    /// Links that an earlier copy of its payload has passed: on these links it repeats bytes.
    pub(crate) seen: u8,
}

const ECN: u8 = 3;
pub(super) const RETRANSMISSION: u8 = 1 << 2;
const CORRUPT: u8 = 1 << 3;
/// Timestamps and no other option.
pub(super) const TIMESTAMPS: u8 = 1 << 4;
pub(super) const DATAGRAM: u8 = 1 << 5;
const WAITS: u8 = 1 << 6;
/// Other options: those of a SYN, or several kinds.
pub(super) const OPTIONS: u8 = 1 << 7;
/// Both bits: SACK blocks and no other option.
pub(super) const BLOCKS: u8 = TIMESTAMPS | OPTIONS;
/// The bits that encode the kind of options.
pub(super) const KIND: u8 = TIMESTAMPS | OPTIONS;

pub(crate) const NIL: u32 = u32::MAX;

impl Packet {
    pub(super) const FREE: Self = Self {
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
