//! What can happen to a packet on a link besides queueing: loss, duplication, delay, damage.

mod corrupt;
mod detour;
mod duplicate;
mod loss;
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

/// The faults that a scenario can name.
pub const ENTRIES: &[&Entry<dyn Fault>] = &[
    &loss::ENTRY,
    &periodic_loss::ENTRY,
    &nth_loss::ENTRY,
    &segment_loss::ENTRY,
    &outage::ENTRY,
    &stall::ENTRY,
    &detour::ENTRY,
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

/// Which packets a fault looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Of {
    All,
    /// Segments with payload, and datagrams.
    Data,
    /// Acknowledgments without payload.
    Acks,
    /// SYNs and SYN-ACKs.
    Syns,
}

impl Of {
    const PARAM: Param =
        Param::choice("of", "all", &["all", "data", "acks", "syns"], "which packets it looks at");

    /// The choice `word` of [`Of::PARAM`].
    fn named(word: &str) -> Self {
        match word {
            "data" => Self::Data,
            "acks" => Self::Acks,
            "syns" => Self::Syns,
            _ => Self::All,
        }
    }

    fn includes(self, p: &Passing) -> bool {
        match self {
            Self::All => true,
            Self::Data => matches!(p.kind, Kind::Data | Kind::Datagram),
            Self::Acks => p.kind == Kind::Ack,
            Self::Syns => p.kind == Kind::Syn,
        }
    }
}

/// What a packet carries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A SYN or SYN-ACK.
    Syn,
    /// A segment with payload (a FIN may ride on it).
    Data,
    /// An acknowledgment without payload.
    Ack,
    /// A FIN without payload.
    Fin,
    /// A reset.
    Reset,
    /// A packet of a datagram source.
    Datagram,
    /// Something that the world does not look into.
    Other,
}

impl Kind {
    /// True for what carries payload.
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::Datagram)
    }
}

/// A packet as it passes a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passing {
    /// Its size on the wire, headers included.
    pub bytes: u32,
    /// What it carries.
    pub kind: Kind,
    /// How many packets left this link's queue before it.
    pub number: u64,
    /// Which flow it belongs to; `u32::MAX` where that is unknown (real packets).
    pub flow: u32,
    /// Position of its first payload byte in the sender's stream; 0 without payload or where unknown.
    pub offset: u64,
    /// Its payload, bytes.
    pub payload: u32,
    /// True when some of its payload was sent before.
    pub retransmission: bool,
}

impl Passing {
    /// A packet of which only the size is known.
    pub const fn opaque(bytes: u32) -> Self {
        Self {
            bytes,
            kind: Kind::Other,
            number: 0,
            flow: u32::MAX,
            offset: 0,
            payload: 0,
            retransmission: false,
        }
    }
}

/// What a fault does with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Nothing.
    Pass,
    /// Loses it.
    Drop,
    /// Delivers it twice.
    Duplicate,
    /// Delivers it this much later, past others if need be.
    Delay(Duration),
    /// Damages it: its checksum fails where it arrives.
    Corrupt,
}

/// Decides about packets as they leave a link's queue for the wire: what is lost here has used the link's
/// capacity.
///
/// A closure of the same shape is a fault too.
pub trait Fault: Send {
    /// Called once for each packet, in the order in which they leave; `now` is the moment at which the packet
    /// has left.
    fn verdict(&mut self, p: &Passing, now: Instant, rng: &mut Rng) -> Verdict;
}

impl<F: FnMut(&Passing, Instant, &mut Rng) -> Verdict + Send> Fault for F {
    fn verdict(&mut self, p: &Passing, now: Instant, rng: &mut Rng) -> Verdict {
        self(p, now, rng)
    }
}
