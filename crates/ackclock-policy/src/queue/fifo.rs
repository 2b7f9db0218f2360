use ackclock_units::Bytes;

use super::packets::fits;
use crate::{Backlog, QueueSize};

/// The backlog of a first-in first-out queue; the link keeps the packets.
#[derive(Debug, Default)]
pub(super) struct Fifo(Backlog);

impl Fifo {
    /// True when a packet of `bytes` may join without going over `limit`.
    pub(super) fn fits(&self, bytes: u32, limit: QueueSize) -> bool {
        fits(self.0, bytes, limit)
    }

    pub(super) fn push(&mut self, bytes: u32) {
        self.0.packets += 1;
        self.0.bytes += Bytes::from(bytes);
    }

    /// Removes the oldest packet, of `bytes`.
    pub(super) fn pop(&mut self, bytes: u32) {
        self.0.packets -= 1;
        self.0.bytes -= Bytes::from(bytes);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.packets == 0
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.0
    }
}
