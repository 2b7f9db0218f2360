//! A link with a first-in first-out queue: departures are told as packets arrive.

use std::collections::VecDeque;

use ackclock_policy::{Admit, Queued};
use ackclock_units::{Bytes, Instant};

use super::{Link, Offer};
use crate::fault::Passing;

/// What a link with a first-in first-out queue keeps of packets of which it has told already when they will
/// arrive.
#[derive(Default)]
pub(super) struct Ahead {
    /// Those in the queue, in order.
    pub(super) packets: VecDeque<Mark>,
    pub(super) bytes: Bytes,
    /// When the first of them goes into service: when the one before it has left.
    pub(super) next_start: Instant,
    /// The packet that went into service last.
    pub(super) serving: Mark,
}

impl Ahead {
    /// Memory that the list takes, bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        (self.packets.capacity() * size_of::<Mark>()) as u64
    }
}

/// A packet's size, and two bits: a long queue holds many of these.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark(u32);

impl Mark {
    const DATA: u32 = 1 << 31;
    const LOST: u32 = 1 << 30;

    /// Of a packet of `bytes`, below 2^30; `data` when it carries payload.
    pub(super) fn new(bytes: u32, data: bool) -> Self {
        debug_assert!(bytes < Self::LOST, "no packet has more than 65,535 bytes");
        Self(bytes | if data { Self::DATA } else { 0 })
    }

    pub(super) fn bytes(self) -> u32 {
        self.0 & (Self::LOST - 1)
    }

    /// It carries payload.
    pub(super) fn is_data(self) -> bool {
        self.0 & Self::DATA != 0
    }

    /// It will be lost on the wire.
    pub(super) fn is_lost(self) -> bool {
        self.0 & Self::LOST != 0
    }

    fn set_lost(&mut self) {
        self.0 |= Self::LOST;
    }
}

impl Link {
    pub(super) fn offer_fifo(&mut self, packet: Queued, about: &Passing) -> Offer {
        let Some(marked) = self.admit(packet) else { return self.refuse(packet.bytes) };
        let departs = self.book(packet, about.kind.is_data());
        let delivery = self.leave(packet, about, departs, marked);
        if delivery.lost {
            // Booked last: it waits at the end of the queue, or it is in service already.
            self.ahead.packets.back_mut().unwrap_or(&mut self.ahead.serving).set_lost();
        }
        Offer::Sent(delivery)
    }

    /// True for a link of some rate behind a first-in first-out queue and without faults: then
    /// [`Link::offer_plain`] does what `offer` does.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Offers a packet to a plain link: when it arrives, and whether it was marked; `None` when it was
    /// refused.
    #[inline(always)]
    pub(crate) fn offer_plain(&mut self, packet: Queued, data: bool) -> Option<(Instant, bool)> {
        self.counters.offered += 1;
        self.counters.offered_bytes += u64::from(packet.bytes);
        let Some(marked) = self.admit(packet) else {
            self.refuse(packet.bytes);
            return None;
        };
        let departs = self.book(packet, data);
        self.count_served(packet.bytes, data, marked);
        Some((departs + self.delay, marked))
    }

    /// Asks the queue for admission. Answers whether the packet was marked; `None` when it was refused.
    #[inline]
    fn admit(&mut self, packet: Queued) -> Option<bool> {
        self.settle(packet.at);
        let Some(queue) = &mut self.queue else { return Some(false) };
        match queue.enqueue(packet, packet.at, &mut self.rng) {
            Admit::Take => Some(false),
            Admit::Mark => Some(true),
            Admit::Drop { early } => {
                self.counters.early_drops += u64::from(early);
                None
            }
            // A queue without a scheduler pushes nothing out (`QueueDiscipline::enqueue`).
            Admit::PushOut(_) => None,
        }
    }

    /// Books the service of an admitted packet; answers when it will have left.
    #[inline(always)]
    fn book(&mut self, packet: Queued, data: bool) -> Instant {
        let now = packet.at;
        let time = self.time_to_send(packet.bytes);
        self.counters.busy += time;
        let start = self.free_at.max(now);
        let idle = self.free_at <= now;
        self.free_at = start + time;
        let ahead = &mut self.ahead;
        if idle {
            // Nothing is queued: it goes into service as it comes.
            (ahead.serving, ahead.next_start) = (Mark::new(packet.bytes, data), self.free_at);
            if let Some(queue) = &mut self.queue {
                queue.dequeued(packet.bytes, now);
            }
            return self.free_at;
        }
        ahead.packets.push_back(Mark::new(packet.bytes, data));
        ahead.bytes += u64::from(packet.bytes);
        let wait = u128::from(start.since(now).as_nanos());
        self.counters.packet_ns += wait;
        self.counters.byte_ns += wait * u128::from(packet.bytes);
        self.counters.max_backlog = self.counters.max_backlog.max(ahead.bytes);
        self.counters.max_backlog_packets = self.counters.max_backlog_packets.max(ahead.packets.len() as u32);
        self.free_at
    }

    /// Takes out of the queue what has gone into service by `now`.
    #[inline]
    pub(super) fn settle(&mut self, now: Instant) {
        if self.ahead.next_start <= now && !self.ahead.packets.is_empty() {
            self.serve_until(now);
        }
    }

    fn serve_until(&mut self, now: Instant) {
        while self.ahead.next_start <= now {
            let Some(first) = self.ahead.packets.pop_front() else { break };
            let start = self.ahead.next_start;
            self.ahead.next_start = start + self.time_to_send(first.bytes());
            self.ahead.bytes -= u64::from(first.bytes());
            self.ahead.serving = first;
            if let Some(queue) = &mut self.queue {
                queue.dequeued(first.bytes(), start);
            }
        }
    }
}
