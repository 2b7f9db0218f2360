//! Packets in order of arrival at one endpoint or link: only the first of them is in the event queue.

use ackclock_units::{Instant, mostly};

use crate::event::alone;
use crate::packet::{NIL, Packet, Pool};
use crate::queue::{EventQueue, PendingEvent};

/// A first-in first-out list of packets, linked through the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    head: u32,
    tail: u32,
    tail_at: Instant,
}

/// When a packet arrives, and its insertion number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketArrival {
    pub(crate) id: u32,
    pub(crate) at: Instant,
    pub(crate) order: u64,
}

impl Lane {
    pub(crate) const EMPTY: Self = Self { head: NIL, tail: NIL, tail_at: Instant::ZERO };

    /// Schedules the arrival of a packet. `head_event` is the event of the lane's first packet. A packet that
    /// overtakes those in the lane, or arrives [`Packet::SPAN`] or more after them, gets an event of its own,
    /// which holds the full time.
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        a: PacketArrival,
        pool: &mut Pool,
        queue: &mut EventQueue,
        head_event: u32,
    ) {
        let PacketArrival { id, at, order } = a;
        let p = pool.get_mut(id);
        p.arrives(at, order);
        p.next = NIL;
        if self.head == NIL {
            self.head = id;
            queue.push(PendingEvent { at, order, what: head_event });
        } else if mostly(at.as_nanos().wrapping_sub(self.tail_at.as_nanos()) < Packet::SPAN) {
            pool.get_mut(self.tail).next = id;
        } else {
            queue.push(PendingEvent { at, order, what: alone(id) });
            return;
        }
        (self.tail, self.tail_at) = (id, at);
    }

    /// The first packet, or [`NIL`].
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.head
    }

    /// Removes the first packet, which has arrived.
    #[inline]
    pub(crate) fn pop(&mut self, pool: &Pool) -> u32 {
        let id = self.head;
        self.head = pool.get(id).next;
        id
    }

    /// PacketArrival time and insertion number of the first packet, after the one before it has been removed.
    /// `latest` is the insertion number given out last.
    #[inline]
    pub(crate) fn next(&self, pool: &Pool, now: Instant, latest: u64) -> Option<(Instant, u64)> {
        if self.head == NIL {
            return None;
        }
        let p = pool.get(self.head);
        Some((p.at(now), p.order(latest)))
    }
}

#[cfg(test)]
#[path = "tests/lane.rs"]
mod tests;
