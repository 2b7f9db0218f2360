use std::fmt;
use std::num::NonZeroU8;
use std::ops::{BitOr, BitOrAssign};

use ackclock_units::{SeqNumber, SeqRange};

/// TCP header flags (RFC 9293 §3.1, RFC 3168 §6.1, RFC 9768 §3.1.1), in wire order.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// Sender has finished sending.
    pub const FIN: Self = Self(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// Acknowledgment number is valid.
    pub const ACK: Self = Self(0x10);
    /// Urgent pointer is valid.
    pub const URG: Self = Self(0x20);
    /// ECN echo.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);
    /// Accurate ECN (RFC 9768 §3.1.1), once the nonce sum of RFC 3540.
    pub const AE: Self = Self(0x100);
    /// All of them.
    pub const ALL: Self = Self(0x1ff);

    /// True when every flag of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True when any flag of `other` is set.
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (Self::SYN, 'S'),
            (Self::FIN, 'F'),
            (Self::RST, 'R'),
            (Self::PSH, 'P'),
            (Self::ACK, '.'),
            (Self::URG, 'U'),
            (Self::ECE, 'E'),
            (Self::CWR, 'W'),
            (Self::AE, 'A'),
        ];
        letters.iter().filter(|(flag, _)| self.has(*flag)).try_for_each(|(_, letter)| write!(f, "{letter}"))
    }
}

/// The timestamps option (RFC 7323 §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timestamps {
    /// Sender's clock.
    pub tsval: u32,
    /// Echo of the peer's clock.
    pub tsecr: u32,
}

/// Up to four SACK blocks (RFC 2018 §3), the most recent first; a DSACK block (RFC 2883) comes before all
/// others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [SeqRange; 4],
    len: u8,
}

impl SackBlocks {
    /// No block.
    pub const NONE: Self = {
        let zero = SeqRange::new(SeqNumber(0), SeqNumber(0));
        Self { blocks: [zero; 4], len: 0 }
    };

    /// Adds a block at the end; a fifth is left out.
    pub fn push(&mut self, block: SeqRange) {
        if usize::from(self.len) < self.blocks.len() {
            self.blocks[usize::from(self.len)] = block;
            self.len += 1;
        }
    }

    /// Keeps the first `n` blocks.
    pub fn truncate(&mut self, n: usize) {
        let mut kept = Self::NONE;
        self.as_slice().iter().take(n).for_each(|block| kept.push(*block));
        *self = kept;
    }

    /// The blocks, in the order of the option.
    pub fn as_slice(&self) -> &[SeqRange] {
        &self.blocks[..usize::from(self.len)]
    }

    /// True without any block.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.len as usize
    }
}

/// The option of accurate ECN feedback (RFC 9768 §3.2.3): up to three counters of payload bytes by the
/// codepoint with which they arrived, 24 bits each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccEcn {
    /// Never zero, so that the absence of the option is all zeros too.
    kind: NonZeroU8,
    len: u8,
    counters: [[u8; 3]; 3],
}

impl AccEcn {
    /// Kind of order 0: ECT(0), CE, ECT(1) (RFC 9768 §3.2.3).
    pub const ORDER_0: NonZeroU8 = NonZeroU8::new(172).expect("not zero");
    /// Kind of order 1: ECT(1), CE, ECT(0) (RFC 9768 §3.2.3).
    pub const ORDER_1: NonZeroU8 = NonZeroU8::new(174).expect("not zero");

    /// The option of this kind with `counters` in its order, the lower 24 bits of each; a fourth is ignored.
    pub fn new(kind: NonZeroU8, counters: &[u32]) -> Self {
        let mut option = Self { kind, len: counters.len().min(3) as u8, counters: [[0; 3]; 3] };
        for (place, counter) in option.counters.iter_mut().zip(counters) {
            let [_, bytes @ ..] = counter.to_be_bytes();
            *place = bytes;
        }
        option
    }

    /// Its kind.
    pub const fn kind(&self) -> u8 {
        self.kind.get()
    }

    /// The counters in the order of the option.
    pub fn counters(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.counters[..usize::from(self.len)].iter().map(|[a, b, c]| u32::from_be_bytes([0, *a, *b, *c]))
    }

    /// Payload bytes that arrived as ECT(0), if present.
    pub fn e0b(&self) -> Option<u32> {
        self.counters().nth(if self.kind == Self::ORDER_0 { 0 } else { 2 })
    }

    /// Payload bytes that arrived as CE, if present.
    pub fn ceb(&self) -> Option<u32> {
        self.counters().nth(1)
    }

    /// Payload bytes that arrived as ECT(1), if present.
    pub fn e1b(&self) -> Option<u32> {
        self.counters().nth(if self.kind == Self::ORDER_0 { 2 } else { 0 })
    }

    /// Its length on the wire, padding not counted (RFC 9768 §3.2.3, table 5).
    pub const fn wire_len(&self) -> u32 {
        2 + 3 * self.len as u32
    }
}

/// The TCP options that the engine understands; unknown ones are skipped by the parser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Maximum segment size (RFC 9293 §3.7.1), SYN only.
    pub mss: Option<u16>,
    /// Window scale shift (RFC 7323 §2), SYN only.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2), SYN only.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018 §3).
    pub sack: SackBlocks,
    /// Accurate ECN feedback (RFC 9768 §3.2.3).
    pub accecn: Option<AccEcn>,
}

impl Default for Options {
    fn default() -> Self {
        Self::NONE
    }
}

impl Options {
    /// No option.
    // As a constant, all zeros: written in one piece, and so quickly read in one piece.
    pub const NONE: Self = Self {
        mss: None,
        window_scale: None,
        sack_permitted: false,
        timestamps: None,
        sack: SackBlocks::NONE,
        accecn: None,
    };

    /// Bytes that the options take in a header, padding included: what a sender subtracts from the segment
    /// size.
    ///
    /// The layout is the usual one: timestamps are preceded by two NOPs (12 bytes), SACK blocks by two NOPs
    /// (4 + 8 n), a window scale by one NOP (4), SACK-permitted by two NOPs (4) or, in a SYN with timestamps,
    /// in place of their NOPs (0 extra). With accurate ECN feedback, which needs the room, no option is
    /// aligned, and the padding comes last.
    pub const fn wire_len(&self) -> u32 {
        if let Some(accecn) = &self.accecn {
            return (self.unpadded_len() + accecn.wire_len()).next_multiple_of(4);
        }
        let mut n = 0;
        if self.mss.is_some() {
            n += 4;
        }
        if self.timestamps.is_some() {
            n += 12;
        } else if self.sack_permitted {
            n += 4;
        }
        if self.window_scale.is_some() {
            n += 4;
        }
        if !self.sack.is_empty() {
            n += 4 + 8 * self.sack.len as u32;
        }
        n
    }

    /// Bytes of the options without any padding, accurate ECN feedback left out.
    pub const fn unpadded_len(&self) -> u32 {
        let mut n = if self.mss.is_some() { 4 } else { 0 };
        n += if self.window_scale.is_some() { 3 } else { 0 };
        n += if self.sack_permitted { 2 } else { 0 };
        n += if self.timestamps.is_some() { 10 } else { 0 };
        n + if self.sack.is_empty() { 0 } else { 2 + 8 * self.sack.len as u32 }
    }
}

/// A TCP segment without ports, addresses and payload bytes: what the engine receives and sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// Sequence number of the first payload byte (or of the SYN).
    pub seq: SeqNumber,
    /// Acknowledgment number; meaningful with [`Flags::ACK`].
    pub ack: SeqNumber,
    /// Payload length, bytes.
    pub len: u32,
    /// Window field as on the wire, unscaled.
    pub window: u16,
    /// Flags.
    pub flags: Flags,
    /// Urgent pointer; the engine does not act on it (RFC 6093).
    pub urgent: u16,
    /// Options.
    pub options: Options,
}

impl Segment {
    /// Sequence space that it occupies: payload plus one each for SYN and FIN (SEG.LEN of RFC 9293 §3.3.1).
    pub const fn seq_len(&self) -> u32 {
        self.len + self.flags.has(Flags::SYN) as u32 + self.flags.has(Flags::FIN) as u32
    }

    /// First sequence number past it.
    pub fn end(&self) -> SeqNumber {
        self.seq + self.seq_len()
    }

    /// Length of its TCP header with options.
    pub const fn header_len(&self) -> u32 {
        20 + self.options.wire_len()
    }
}
