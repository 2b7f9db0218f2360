use std::collections::VecDeque;

use ackclock_units::Bytes;

use crate::{Backlog, QueueSize, Queued};

/// Packets in order of arrival, with their sum of bytes: what every queue here is made of.
#[derive(Debug, Default)]
pub(super) struct Fifo {
    packets: VecDeque<Queued>,
    bytes: Bytes,
}

impl Fifo {
    /// True when `p` may join without going over `limit`.
    pub(super) fn fits(&self, p: &Queued, limit: QueueSize) -> bool {
        match limit {
            QueueSize::Packets(n) => (self.packets.len() as u64) < n,
            QueueSize::Bytes(n) => self.bytes + Bytes::from(p.bytes) <= n,
        }
    }

    pub(super) fn push(&mut self, p: Queued) {
        self.bytes += Bytes::from(p.bytes);
        self.packets.push_back(p);
    }

    pub(super) fn pop(&mut self) -> Option<Queued> {
        let p = self.packets.pop_front()?;
        self.bytes -= Bytes::from(p.bytes);
        Some(p)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(super) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u32, bytes: self.bytes }
    }
}
