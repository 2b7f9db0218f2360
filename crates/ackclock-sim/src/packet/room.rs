//! The memory of all packets.

use super::{Packet, Pool};

impl Pool {
    /// Doubles the capacity; beyond [`LARGE_POOL`] packets, adds a quarter.
    #[cold]
    pub(super) fn make_room(&mut self) {
        let len = self.packets.len();
        self.packets.reserve_exact(if len < LARGE_POOL { len.max(64) } else { len / 4 });
    }

    /// Memory held by all packets and their options, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        let options = self.options.held_bytes() + self.blocks.held_bytes() + self.timestamps.held_bytes();
        (self.packets.capacity() * size_of::<Packet>()) as u64 + options
    }

    /// Number of slots, free ones included.
    pub(crate) fn slots(&self) -> u64 {
        self.packets.len() as u64
    }
}

/// From this many packets on, the pool grows by a quarter.
const LARGE_POOL: usize = 1 << 20;
