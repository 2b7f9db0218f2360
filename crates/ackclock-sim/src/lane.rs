//! Packets on their way to one place in order of arrival: only the first of them is in the event queue.

use ackclock_units::Instant;

use crate::packet::{NIL, Pool};
use crate::queue::{Entry, EventQueue};

/// A first-in first-out list of packets, linked through the pool.
#[derive(Clone, Copy)]
pub(crate) struct Lane {
    head: u32,
    tail: u32,
    tail_at: Instant,
}

impl Lane {
    pub(crate) const EMPTY: Self = Self { head: NIL, tail: NIL, tail_at: Instant::ZERO };

    /// Lets a packet arrive at `at`. `head_event` stands for the lane's first packet, `own_event` for this packet alone, which is used when it
    /// overtakes those in the lane.
    #[inline]
    pub(crate) fn push(&mut self, id: u32, at: Instant, order: u64, pool: &mut Pool, queue: &mut EventQueue, head_event: u32, own_event: u32) {
        let p = pool.get_mut(id);
        (p.at, p.order, p.next) = (at, order, NIL);
        if self.head == NIL {
            self.head = id;
            queue.push(Entry { at, order, what: head_event });
        } else if at >= self.tail_at {
            pool.get_mut(self.tail).next = id;
        } else {
            queue.push(Entry { at, order, what: own_event });
            return;
        }
        (self.tail, self.tail_at) = (id, at);
    }

    /// The first packet, which has arrived.
    #[inline]
    pub(crate) fn pop(&mut self, pool: &Pool) -> u32 {
        let id = self.head;
        self.head = pool.get(id).next;
        id
    }

    /// When the first packet arrives, and its insertion number.
    #[inline]
    pub(crate) fn next(&self, pool: &Pool) -> Option<(Instant, u64)> {
        if self.head == NIL {
            return None;
        }
        let p = pool.get(self.head);
        Some((p.at, p.order))
    }
}
