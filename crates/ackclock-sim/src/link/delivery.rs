//! What happens to a packet offered to a link.

use ackclock_policy::PacketId;
use ackclock_units::Instant;

/// Result of offering a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// The packet will arrive, or be lost on the wire.
    Sent(Delivery),
    /// The packet waits; [`Link::next_departure`](super::Link::next_departure) returns when to poll.
    Waits {
        /// True when the queue set Congestion Experienced as the packet arrived.
        marked: bool,
    },
    /// The queue refused the packet.
    Refused,
}

/// What happens to a packet that leaves the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Which packet.
    pub id: PacketId,
    /// When its last bit is on the wire.
    pub departs: Instant,
    /// When its last bit arrives at the far end; meaningless when it is lost.
    pub at: Instant,
    /// When a second copy of it arrives.
    pub copy_at: Option<Instant>,
    /// Lost on the wire.
    pub lost: bool,
    /// Damaged on the wire.
    pub corrupt: bool,
    /// The queue set Congestion Experienced: as the packet arrived when the offer returned [`Offer::Sent`],
    /// otherwise as it left the queue.
    pub marked: bool,
}
