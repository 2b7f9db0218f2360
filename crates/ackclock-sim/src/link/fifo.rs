//! A link with a first-in first-out queue: a packet's departure is known when it is offered.

use ackclock_policy::{Admit, Queued};
use ackclock_units::{Instant, seldom};

use super::ahead::Booked;
use super::delivery::Offer;
use super::state::Link;
use crate::fault::PacketInfo;

impl Link {
    pub(super) fn offer_fifo(&mut self, packet: Queued, about: &PacketInfo) -> Offer {
        let Some(marked) = self.admit(packet) else { return self.refuse(packet.bytes) };
        let start = self.free_at.max(packet.at);
        let departs = if self.elements.is_some() {
            self.book_with_elements(packet, about.kind.is_data())
        } else {
            self.book(packet, about.kind.is_data())
        };
        if let Some(sojourns) = &mut self.sojourns {
            sojourns.add(packet.at, start);
        }
        let delivery = self.leave(packet, about, departs, marked);
        if delivery.lost {
            // The packet was booked last: it is at the end of the queue, or in service.
            self.ahead.packets.back_mut().unwrap_or(&mut self.ahead.serving).set_lost();
        }
        Offer::Sent(delivery)
    }

    /// True for a link with a rate, a first-in first-out queue and no faults, whose sojourn times are not
    /// measured. For such a link
    /// [`Link::offer_plain`] is a faster equivalent of [`Link::offer`].
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Offers a packet to a plain link. Returns when it arrives and whether it was marked; `None` when it was
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

    /// Offers the packet to the queue. Returns whether it was marked; `None` when it was refused.
    #[inline]
    fn admit(&mut self, packet: Queued) -> Option<bool> {
        self.advance(packet.at);
        let Some(queue) = &mut self.queue else { return Some(false) };
        match queue.enqueue(packet, packet.at, &mut self.rng) {
            Admit::Take => Some(false),
            Admit::Mark => Some(true),
            Admit::Drop { early } => {
                self.counters.early_drops += u64::from(early);
                None
            }
            // Unreachable: a queue without a scheduler pushes nothing out (`QueueDiscipline::enqueue`).
            Admit::PushOut(_) => None,
        }
    }

    /// Books the transmission of an admitted packet. Returns when its last bit is on the wire.
    #[inline(always)]
    fn book(&mut self, packet: Queued, data: bool) -> Instant {
        let now = packet.at;
        let time = self.time_to_send(packet.bytes);
        self.counters.busy += time;
        let start = self.free_at.max(now);
        self.book_until(packet, data, start, start + time)
    }

    /// As [`Link::book`], for a link with elements.
    fn book_with_elements(&mut self, packet: Queued, data: bool) -> Instant {
        let (now, idle) = (packet.at, self.free_at <= packet.at);
        let start = self.free_at.max(now);
        let finished = self.finish(packet.bytes, start, idle);
        self.counters.busy += finished.since(start);
        if !idle {
            self.ahead.finished.push_back(finished);
        }
        self.book_until(packet, data, start, finished)
    }

    /// Books a transmission from `start` to `finished`.
    #[inline(always)]
    fn book_until(&mut self, packet: Queued, data: bool, start: Instant, finished: Instant) -> Instant {
        let now = packet.at;
        let idle = self.free_at <= now;
        self.free_at = finished;
        let ahead = &mut self.ahead;
        if idle {
            // The queue is empty: it goes into service at once.
            (ahead.serving, ahead.next_start) = (Booked::new(packet.bytes, data), self.free_at);
            if let Some(queue) = &mut self.queue {
                queue.dequeued(packet.bytes, now);
            }
            return self.free_at;
        }
        ahead.packets.push_back(Booked::new(packet.bytes, data));
        ahead.bytes += u64::from(packet.bytes);
        let wait = u128::from(start.since(now).as_nanos());
        self.counters.packet_ns += wait;
        self.counters.byte_ns += wait * u128::from(packet.bytes);
        self.counters.max_backlog = self.counters.max_backlog.max(ahead.bytes);
        self.counters.max_backlog_packets = self.counters.max_backlog_packets.max(ahead.packets.len() as u32);
        self.free_at
    }

    /// Removes the packets from the queue that have gone into service by `now`.
    #[inline]
    pub(super) fn advance(&mut self, now: Instant) {
        if self.ahead.next_start <= now && !self.ahead.packets.is_empty() {
            self.serve_until(now);
        }
    }

    fn serve_until(&mut self, now: Instant) {
        while self.ahead.next_start <= now {
            let Some(first) = self.ahead.packets.pop_front() else { break };
            let start = self.ahead.next_start;
            self.ahead.next_start = if seldom(self.elements.is_some()) {
                self.finished_next(start)
            } else {
                start + self.time_to_send(first.bytes())
            };
            self.ahead.bytes -= u64::from(first.bytes());
            self.ahead.serving = first;
            if let Some(queue) = &mut self.queue {
                queue.dequeued(first.bytes(), start);
            }
        }
    }

    /// When the packet that goes into service at `start` has left, on a link with elements.
    #[cold]
    fn finished_next(&mut self, start: Instant) -> Instant {
        self.ahead.finished.pop_front().unwrap_or(start)
    }
}
