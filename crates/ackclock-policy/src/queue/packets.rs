//! The packets that wait in a queue with a scheduler, in any number of first-in first-out lists.

use crate::{Backlog, QueueSize, Queued};

/// No slot.
const NIL: u32 = u32::MAX;

/// All packets of one queue. Slots are reused: its memory is that of the longest backlog so far, and nothing
/// is allocated per packet once that is reached.
#[derive(Debug)]
pub(super) struct Packets {
    slots: Vec<Slot>,
    free: u32,
    backlog: Backlog,
}

#[derive(Debug)]
struct Slot {
    packet: Queued,
    next: u32,
}

/// A list of packets in order of arrival. The packets are in a [`Packets`].
#[derive(Debug)]
pub(super) struct PacketList {
    first: u32,
    last: u32,
    backlog: Backlog,
}

impl Default for Packets {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NIL, backlog: Backlog::default() }
    }
}

impl Default for PacketList {
    fn default() -> Self {
        Self { first: NIL, last: NIL, backlog: Backlog::default() }
    }
}

impl PacketList {
    pub(super) fn is_empty(&self) -> bool {
        self.first == NIL
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }
}

impl Packets {
    /// Appends a packet to `list`.
    #[inline]
    pub(super) fn push(&mut self, list: &mut PacketList, packet: Queued) {
        let slot = Slot { packet, next: NIL };
        let index = self.free;
        let index = if index == NIL {
            self.slots.push(slot);
            // Packets have 32-bit numbers.
            self.slots.len() as u32 - 1
        } else {
            self.free = self.slots[index as usize].next;
            self.slots[index as usize] = slot;
            index
        };
        if list.first == NIL {
            list.first = index;
        } else {
            self.slots[list.last as usize].next = index;
        }
        list.last = index;
        for backlog in [&mut list.backlog, &mut self.backlog] {
            backlog.packets += 1;
            backlog.bytes += u64::from(packet.bytes);
        }
    }

    /// Removes the oldest packet of `list`.
    #[inline]
    pub(super) fn pop(&mut self, list: &mut PacketList) -> Option<Queued> {
        let index = list.first;
        if index == NIL {
            return None;
        }
        let slot = &mut self.slots[index as usize];
        let packet = slot.packet;
        (list.first, slot.next, self.free) = (slot.next, self.free, index);
        for backlog in [&mut list.backlog, &mut self.backlog] {
            backlog.packets -= 1;
            backlog.bytes -= u64::from(packet.bytes);
        }
        Some(packet)
    }

    /// Removes the newest packet of `list`. Takes a step for each of its packets.
    pub(super) fn pop_last(&mut self, list: &mut PacketList) -> Option<Queued> {
        if list.first == NIL || list.first == list.last {
            return self.pop(list);
        }
        let (index, mut before) = (list.last, list.first);
        while self.slots[before as usize].next != index {
            before = self.slots[before as usize].next;
        }
        self.slots[before as usize].next = NIL;
        list.last = before;
        let slot = &mut self.slots[index as usize];
        let packet = slot.packet;
        (slot.next, self.free) = (self.free, index);
        for backlog in [&mut list.backlog, &mut self.backlog] {
            backlog.packets -= 1;
            backlog.bytes -= u64::from(packet.bytes);
        }
        Some(packet)
    }

    /// The oldest packet of `list`.
    #[inline]
    pub(super) fn first(&self, list: &PacketList) -> Option<&Queued> {
        (list.first != NIL).then(|| &self.slots[list.first as usize].packet)
    }

    /// All packets of all lists.
    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Memory held, bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        (self.slots.capacity() * size_of::<Slot>()) as u64
    }
}

/// True when a packet of `bytes` may join a backlog without going over `limit`.
#[inline]
pub(super) fn fits(backlog: Backlog, bytes: u32, limit: QueueSize) -> bool {
    match limit {
        QueueSize::Packets(n) => u64::from(backlog.packets) < n,
        QueueSize::Bytes(n) => backlog.bytes + u64::from(bytes) <= n,
    }
}

/// True when a backlog is larger than `limit`.
#[inline]
pub(super) fn exceeds(backlog: Backlog, limit: QueueSize) -> bool {
    match limit {
        QueueSize::Packets(n) => u64::from(backlog.packets) > n,
        QueueSize::Bytes(n) => backlog.bytes > n,
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Instant;

    use super::*;
    use crate::{Ecn, PacketId};

    fn packet(id: u32) -> Queued {
        Queued { id: PacketId(id), flow: 0, bytes: 100 + id, ecn: Ecn::NotEct, at: Instant::ZERO }
    }

    #[test]
    fn lists_share_slots_and_keep_their_order() {
        let mut packets = Packets::default();
        let (mut a, mut b) = (PacketList::default(), PacketList::default());
        for id in 0..10 {
            packets.push(if id % 2 == 0 { &mut a } else { &mut b }, packet(id));
        }
        assert_eq!(a.backlog(), Backlog { packets: 5, bytes: 520 });
        assert_eq!(packets.backlog(), Backlog { packets: 10, bytes: 1045 });
        assert_eq!(packets.first(&b).map(|p| p.id.0), Some(1));
        let mut out = |list: &mut PacketList| packets.pop(list).map(|p| p.id.0);
        assert_eq!([out(&mut a), out(&mut a), out(&mut b)], [Some(0), Some(2), Some(1)]);
        let slots = packets.slots.len();
        for id in 10..13 {
            packets.push(&mut b, packet(id));
        }
        assert_eq!(packets.slots.len(), slots, "freed slots are used again");
        let mut rest = |list: &mut PacketList| -> Vec<u32> {
            std::iter::from_fn(|| packets.pop(list).map(|p| p.id.0)).collect()
        };
        assert_eq!((rest(&mut a), rest(&mut b)), (vec![4, 6, 8], vec![3, 5, 7, 9, 10, 11, 12]));
        assert!(a.is_empty() && packets.first(&a).is_none());
        (20..23).for_each(|id| packets.push(&mut a, packet(id)));
        assert_eq!(packets.pop_last(&mut a).map(|p| p.id.0), Some(22));
        packets.push(&mut a, packet(23));
        assert_eq!(packets.backlog(), Backlog { packets: 3, bytes: 364 });
        let mut last = || packets.pop_last(&mut a).map(|p| p.id.0);
        assert_eq!([last(), last(), last(), last()], [Some(23), Some(21), Some(20), None]);
        assert!(a.is_empty());
        assert_eq!(packets.backlog(), Backlog::default());
    }
}
