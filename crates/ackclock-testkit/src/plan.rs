//! What a path does to packets, and what the applications at its ends do.

use ackclock_units::{Duration, Ecn, Instant, Rate, Rng};

/// One direction of the path. Probabilities are per packet and independent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Path {
    /// Propagation delay.
    pub delay: Duration,
    /// Largest additional delay, drawn uniformly: packets overtake each other.
    pub jitter: Duration,
    /// Rate at which packets are sent; the queue before it has no limit.
    pub rate: Option<Rate>,
    /// Probability of loss.
    pub loss: f64,
    /// Probability of being held back by `held`.
    pub reorder: f64,
    /// Time by which a packet is held back.
    pub held: Duration,
    /// Probability of a second copy, with a delay drawn separately.
    pub duplicate: f64,
    /// Probability of damage: a burst of up to 16 flipped bits, which the internet checksum always detects.
    pub corrupt: f64,
    /// Probability of Congestion Experienced for ECN-capable packets.
    pub mark: f64,
    /// Longest packet; a longer one is a bug of the sender.
    pub mtu: usize,
}

impl Path {
    /// A path with a delay alone.
    pub const fn clean(delay: Duration) -> Self {
        let zero = Duration::ZERO;
        Self {
            delay,
            jitter: zero,
            rate: None,
            loss: 0.0,
            reorder: 0.0,
            held: zero,
            duplicate: 0.0,
            corrupt: 0.0,
            mark: 0.0,
            mtu: 1500,
        }
    }
}

/// Something that happens at a given time or to given data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Script {
    /// Everything sent during an interval is lost, both ways.
    Outage {
        /// Start of the interval.
        start: Instant,
        /// End of the interval.
        end: Instant,
    },
    /// Everything sent during an interval is held, and released in order at its end: a delay spike.
    Held {
        /// Start of the interval.
        start: Instant,
        /// End of the interval.
        end: Instant,
    },
    /// From `start` on a link on the path has this MTU. A longer packet is discarded and elicits an ICMP
    /// error, which may be lost as any packet.
    Narrow {
        /// Start of the interval.
        start: Instant,
        /// Longest packet.
        mtu: usize,
    },
    /// The client's segments that begin in this part of its stream are lost, the first `times` transmissions
    /// of each.
    Lost {
        /// First byte of the part.
        offset: u32,
        /// Length of the part.
        len: u32,
        /// Transmissions lost.
        times: u32,
    },
}

/// How an application reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// Everything, at once.
    Greedy,
    /// A number of bytes at intervals: the window closes.
    Slow {
        /// The interval.
        every: Duration,
        /// The bytes read at a time.
        bytes: usize,
    },
}

/// When an application closes its side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closing {
    /// When it has written everything.
    WhenWritten,
    /// When it has written everything, and read everything up to the peer's FIN.
    WhenPeerHas,
}

/// What one side's application does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Bytes that it writes.
    pub bytes: u64,
    /// How it reads.
    pub reading: Reading,
    /// When it closes.
    pub closing: Closing,
}

impl Plan {
    /// Writes this many bytes and closes.
    pub const fn send(bytes: u64) -> Self {
        Self { bytes, reading: Reading::Greedy, closing: Closing::WhenWritten }
    }

    /// Writes nothing, and closes after the peer.
    pub const fn receive() -> Self {
        Self { bytes: 0, reading: Reading::Greedy, closing: Closing::WhenPeerHas }
    }
}

/// Counts of what happened to packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fates {
    /// Packets sent by both sides.
    pub sent: u64,
    /// Lost.
    pub lost: u64,
    /// Held back.
    pub held: u64,
    /// Copied.
    pub duplicated: u64,
    /// Damaged.
    pub corrupted: u64,
    /// Discarded by the receiver because of a wrong checksum.
    pub refused: u64,
    /// Marked.
    pub marked: u64,
}

/// Sets Congestion Experienced, adjusting the header checksum; false for a packet that is not ECN-capable
/// (RFC 3168 §5).
pub(crate) fn mark(bytes: &mut [u8]) -> bool {
    let capable = matches!(Ecn::from_bits(bytes[1]), Ecn::Ect0 | Ecn::Ect1);
    if capable {
        // One's-complement arithmetic: the checksum decreases by what the field increases by (RFC 1624).
        let grows = u32::from(Ecn::Ce.bits() - (bytes[1] & 3));
        bytes[1] |= Ecn::Ce.bits();
        let sum = u32::from(u16::from_be_bytes([bytes[10], bytes[11]]));
        let sum = if sum >= grows { sum - grows } else { sum + 0xffff - grows };
        bytes[10..12].copy_from_slice(&(sum as u16).to_be_bytes());
    }
    capable
}

/// Flips a burst of bits, at least one and at most sixteen in a row.
pub(crate) fn damage(bytes: &mut [u8], rng: &mut Rng) {
    let bits = bytes.len() as u64 * 8;
    let first = rng.below(bits);
    // Bit 0 of the pattern is set: the first bit always flips. A burst of 16 ones would turn zeros into ones,
    // the same number to this checksum.
    let burst = (rng.next_u64() & 0x7fff) | 1;
    for i in (0..16).filter(|i| burst >> i & 1 == 1 && first + i < bits) {
        let bit = first + i;
        bytes[(bit / 8) as usize] ^= 0x80 >> (bit % 8);
    }
}
