//! A link whose queue has a scheduler: it is polled when the packet in service has left.

use ackclock_policy::{Admit, PacketId, Queued};
use ackclock_units::Instant;

use super::delivery::{Delivery, Offer};
use super::state::Link;
use crate::fault::PacketInfo;

impl Link {
    pub(super) fn offer_scheduled(&mut self, packet: Queued) -> Offer {
        let now = packet.at;
        self.integrate(now);
        let Some(queue) = &mut self.queue else { return self.refuse(packet.bytes) };
        let before = queue.backlog().bytes;
        let marked = match queue.enqueue(packet, now, &mut self.rng) {
            Admit::Take => false,
            Admit::Mark => true,
            Admit::Drop { early } => {
                self.counters.early_drops += u64::from(early);
                return self.refuse(packet.bytes);
            }
            Admit::PushOut(id) => {
                let pushed = (before + u64::from(packet.bytes)).saturating_sub(queue.backlog().bytes);
                self.counters.queue_drops += 1;
                self.counters.queue_drop_bytes += pushed;
                self.dropped.push(id);
                false
            }
        };
        self.counters.marked += u64::from(marked);
        if self.in_service.is_none() {
            self.serve(now);
        } else {
            let backlog = queue.backlog();
            self.counters.max_backlog = self.counters.max_backlog.max(backlog.bytes);
            self.counters.max_backlog_packets = self.counters.max_backlog_packets.max(backlog.packets);
        }
        Offer::Waits { marked }
    }

    /// Takes the next packet from the scheduler and puts it into service.
    fn serve(&mut self, now: Instant) {
        self.integrate(now);
        let Some(queue) = &mut self.queue else { return };
        let (before, dropped_before) = (queue.backlog(), self.dropped.len());
        let next = queue.scheduler().and_then(|s| s.dequeue(now, &mut self.dropped));
        let dropped = (self.dropped.len() - dropped_before) as u64;
        if dropped > 0 {
            let served = next.map_or(0, |d| u64::from(d.packet.bytes));
            self.counters.queue_drops += dropped;
            self.counters.queue_drop_bytes += before.bytes.saturating_sub(queue.backlog().bytes + served);
        }
        self.marked = next.is_some_and(|d| d.marked);
        self.in_service = next.map(|d| (d.packet, self.finish(d.packet.bytes, now, self.free_at < now)));
        if let Some((_, departs)) = self.in_service {
            self.counters.busy += departs.since(now);
        }
    }

    /// When the packet in service will have left. `None` when there is none, and for a link that is never
    /// polled ([`Link::is_fifo`]).
    pub fn next_departure(&self) -> Option<Instant> {
        self.in_service.map(|(_, departs)| departs)
    }

    /// The packet that the next call of [`Link::poll`] with `now` returns.
    pub fn served_by(&self, now: Instant) -> Option<PacketId> {
        self.in_service.filter(|(_, departs)| *departs <= now).map(|(packet, _)| packet.id)
    }

    /// Returns the next packet that has left by `now`, if any; the packet after it goes into service at the
    /// moment of that departure. `about` looks a packet up. Call until it returns `None`.
    /// [`Link::next_dropped`] returns the packets that the queue dropped meanwhile.
    pub fn poll(&mut self, now: Instant, about: impl FnOnce(PacketId) -> PacketInfo) -> Option<Delivery> {
        let (packet, departs) = self.in_service.filter(|(_, departs)| *departs <= now)?;
        let marked = self.marked;
        self.free_at = departs;
        self.serve(departs);
        Some(self.leave(packet, &about(packet.id), departs, marked))
    }

    /// Returns a packet that was admitted and has been dropped since. Call until it returns `None`, after
    /// [`Link::offer`] and [`Link::poll`].
    pub fn next_dropped(&mut self) -> Option<PacketId> {
        self.dropped.pop()
    }
}
