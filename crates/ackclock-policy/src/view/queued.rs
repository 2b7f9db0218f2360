//! Inputs and decisions of a queue.

use ackclock_units::{Bytes, Ecn, Instant};

/// A packet's number, unique among the packets in a simulation at one time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct PacketId(pub u32);

/// A packet as a queue sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queued {
    /// Which packet.
    pub id: PacketId,
    /// Its flow: a small number shared by all packets that one end of a connection sends to the other, and by
    /// no other active flow.
    pub flow: u32,
    /// Its size on the wire, headers included.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// When it was queued.
    pub at: Instant,
}

/// A packet that leaves its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dequeued {
    /// Which one.
    pub packet: Queued,
    /// Congestion Experienced is set as it leaves. Only for an ECN-capable packet that was not marked on
    /// arrival.
    pub marked: bool,
}

impl From<Queued> for Dequeued {
    /// Unmarked.
    fn from(packet: Queued) -> Self {
        Self { packet, marked: false }
    }
}

/// What a queue does with an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admit {
    /// Queues it.
    Take,
    /// Queues it with Congestion Experienced set.
    Mark,
    /// Drops it.
    Drop {
        /// An active queue management drop: there was room.
        early: bool,
    },
    /// Drops that packet from the queue, and queues this one.
    PushOut(PacketId),
}

/// What waits in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Packets.
    pub packets: u32,
    /// Bytes.
    pub bytes: Bytes,
}
