//! The memory of all packets.

use super::{Packet, Pool};

impl Pool {
    /// Room for as many again, of a large number for a quarter more.
    #[cold]
    pub(super) fn make_room(&mut self) {
        let len = self.packets.len();
        self.packets.reserve_exact(if len < LARGE_POOL { len.max(64) } else { len / 4 });
    }

    /// Memory that all packets take, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        let options = self.options.held_bytes() + self.blocks.held_bytes() + self.timestamps.held_bytes();
        (self.packets.capacity() * size_of::<Packet>()) as u64 + options
    }

    /// Places for packets, free ones included.
    pub(crate) fn places(&self) -> u64 {
        self.packets.len() as u64
    }
}

/// Packets from which on there is not made room for twice as many.
const LARGE_POOL: usize = 1 << 20;
