//! Faults on a link's wire: loss, duplication, delay, damage.

mod batch;
mod corrupt;
mod detour;
mod duplicate;
mod gilbert_elliott;
mod loss;
mod markov_loss;
mod nth_loss;
mod outage;
mod periodic_loss;
mod reorder;
mod segment_loss;
mod stall;
#[cfg(test)]
mod tests;

use ackclock_policy::{Declaration, Entry, Param};
use ackclock_units::{Duration, Instant, Rng};

/// The built-in faults, by name in scenarios.
pub const ENTRIES: &[&Entry<dyn Fault>] = &[
    &loss::ENTRY,
    &gilbert_elliott::ENTRY,
    &markov_loss::ENTRY,
    &periodic_loss::ENTRY,
    &nth_loss::ENTRY,
    &segment_loss::ENTRY,
    &outage::ENTRY,
    &stall::ENTRY,
    &detour::ENTRY,
    &batch::ENTRY,
    &reorder::ENTRY,
    &duplicate::ENTRY,
    &corrupt::ENTRY,
];

/// Their declarations, for listings beside those of the policies.
pub fn declarations() -> Vec<Declaration> {
    ENTRIES
        .iter()
        .map(|e| Declaration {
            kind: "fault",
            name: e.name,
            about: e.about,
            source: e.source,
            params: e.params,
        })
        .collect()
}

/// Which packets a fault applies to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AppliesTo {
    All,
    /// Segments with payload, and datagrams.
    Data,
    /// Acknowledgments without payload.
    Acks,
    /// SYNs and SYN-ACKs.
    Syns,
}

impl AppliesTo {
    const PARAM: Param =
        Param::choice("of", "all", &["all", "data", "acks", "syns"], "which packets it applies to");

    /// Parses a choice of [`AppliesTo::PARAM`].
    fn named(word: &str) -> Self {
        match word {
            "data" => Self::Data,
            "acks" => Self::Acks,
            "syns" => Self::Syns,
            _ => Self::All,
        }
    }

    fn includes(self, p: &PacketInfo) -> bool {
        match self {
            Self::All => true,
            Self::Data => matches!(p.kind, PacketKind::Data | PacketKind::Datagram),
            Self::Acks => p.kind == PacketKind::Ack,
            Self::Syns => p.kind == PacketKind::Syn,
        }
    }
}

/// What a packet carries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PacketKind {
    /// A SYN or SYN-ACK.
    Syn,
    /// A segment with payload, with or without FIN.
    Data,
    /// An acknowledgment without payload.
    Ack,
    /// A FIN without payload.
    Fin,
    /// A reset.
    Reset,
    /// A packet of a datagram source.
    Datagram,
    /// A packet that was not parsed.
    Other,
}

impl PacketKind {
    /// True for what carries payload.
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::Datagram)
    }
}

/// What a fault sees of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketInfo {
    /// Its size on the wire, headers included.
    pub bytes: u32,
    /// What it carries.
    pub kind: PacketKind,
    /// Number of packets that left this link's queue before it.
    pub number: u64,
    /// Its flow; `u32::MAX` where that is unknown (real packets).
    pub flow: u32,
    /// Position of its first payload byte in the sender's stream; 0 without payload or where unknown.
    pub offset: u64,
    /// Its payload, bytes.
    pub payload: u32,
    /// True when some of its payload was sent before.
    pub retransmission: bool,
}

impl PacketInfo {
    /// A packet that was not parsed.
    pub const fn opaque(bytes: u32) -> Self {
        Self {
            bytes,
            kind: PacketKind::Other,
            number: 0,
            flow: u32::MAX,
            offset: 0,
            payload: 0,
            retransmission: false,
        }
    }
}

/// What a fault does to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultVerdict {
    /// Nothing.
    Pass,
    /// Loses it.
    Drop,
    /// Delivers it twice.
    Duplicate,
    /// Delays it by this much, so that others may overtake it.
    Delay(Duration),
    /// Damages it: its checksum fails where it arrives.
    Corrupt,
}

/// Decides what happens to a packet as it leaves a link's queue for the wire. A packet lost here has used the
/// link's capacity. Implemented for closures of the same signature.
pub trait Fault: Send {
    /// Called once for each packet, in the order of departure. `now` is when its last bit is on the wire.
    fn verdict(&mut self, p: &PacketInfo, now: Instant, rng: &mut Rng) -> FaultVerdict;
}

impl<F: FnMut(&PacketInfo, Instant, &mut Rng) -> FaultVerdict + Send> Fault for F {
    fn verdict(&mut self, p: &PacketInfo, now: Instant, rng: &mut Rng) -> FaultVerdict {
        self(p, now, rng)
    }
}
