//! Packets of a first-in first-out queue, booked ahead of time.

use std::collections::VecDeque;

use ackclock_units::{Bytes, Instant};

/// Packets whose departure has been returned already but lies in the future.
#[derive(Default)]
pub(super) struct Ahead {
    /// Those in the queue, in order.
    pub(super) packets: VecDeque<Booked>,
    /// When each of them has left; empty on links where that follows from the rate.
    pub(super) finished: VecDeque<Instant>,
    pub(super) bytes: Bytes,
    /// When the first of them goes into service, which is when the one before it has left.
    pub(super) next_start: Instant,
    /// The packet that went into service last.
    pub(super) serving: Booked,
}

impl Ahead {
    /// Memory held by the list, bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        let times = self.finished.capacity() * size_of::<Instant>();
        (self.packets.capacity() * size_of::<Booked>() + times) as u64
    }
}

/// A packet's size and two flags in one word, since a long queue holds many.
#[derive(Clone, Copy, Default)]
pub(super) struct Booked(u32);

impl Booked {
    const DATA: u32 = 1 << 31;
    const LOST: u32 = 1 << 30;

    /// A packet of `bytes`, below 2^30; `data` when it carries payload.
    pub(super) fn new(bytes: u32, data: bool) -> Self {
        debug_assert!(bytes < Self::LOST, "no packet has more than 65,535 bytes");
        Self(bytes | if data { Self::DATA } else { 0 })
    }

    pub(super) fn bytes(self) -> u32 {
        self.0 & (Self::LOST - 1)
    }

    /// True when it carries payload.
    pub(super) fn is_data(self) -> bool {
        self.0 & Self::DATA != 0
    }

    /// True when the wire will lose it.
    pub(super) fn is_lost(self) -> bool {
        self.0 & Self::LOST != 0
    }

    pub(super) fn set_lost(&mut self) {
        self.0 |= Self::LOST;
    }
}
