//! A link whose queue has a scheduler: it is polled when the packet in service has left.

use ackclock_policy::{Admit, PacketId, Queued};
use ackclock_units::{Duration, Instant};

use super::delivery::{Delivery, Offer};
use super::medium::MediumEnd;
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
        (self.in_service, self.release_at) = (None, None);
        self.integrate(now);
        let medium = self.elements.as_ref().and_then(|state| state.elements.medium.clone());
        let Some(queue) = &mut self.queue else { return };
        if let Some(medium) = &medium {
            let backlog = queue.backlog();
            if backlog.packets == 0 {
                return medium.is_idle();
            }
            let turn = medium.turn(now);
            if turn > now {
                self.release_at = Some(turn);
                self.counters.max_backlog = self.counters.max_backlog.max(backlog.bytes);
                self.counters.max_backlog_packets = self.counters.max_backlog_packets.max(backlog.packets);
                return;
            }
        }
        let gap = medium.as_ref().map_or(Duration::ZERO, MediumEnd::gap);
        let (before, dropped_before) = (queue.backlog(), self.dropped.len());
        let next = queue.scheduler().and_then(|s| s.dequeue(now, &mut self.dropped));
        let dropped = (self.dropped.len() - dropped_before) as u64;
        if dropped > 0 {
            let served = next.map_or(0, |d| u64::from(d.packet.bytes));
            self.counters.queue_drops += dropped;
            self.counters.queue_drop_bytes += before.bytes.saturating_sub(queue.backlog().bytes + served);
        }
        self.marked = next.is_some_and(|d| d.marked);
        self.in_service =
            next.map(|d| (d.packet, self.finish(d.packet.bytes, now + gap, self.free_at < now)));
        if let Some((_, departs)) = self.in_service {
            self.counters.busy += departs.since(now);
            if let Some(medium) = medium {
                medium.occupies(departs);
            }
        }
    }

    /// When to poll it: when the packet in service will have left, or the shared medium may be free. `None`
    /// when nothing waits, and for a link that is never polled ([`Link::is_fifo`]).
    pub fn next_departure(&self) -> Option<Instant> {
        self.in_service.map(|(_, departs)| departs).or(self.release_at)
    }

    /// The packet that the next call of [`Link::poll`] with `now` returns.
    pub fn served_by(&mut self, now: Instant) -> Option<PacketId> {
        while let Some(at) = self.release_at.filter(|at| *at <= now) {
            self.serve(at);
        }
        self.in_service.filter(|(_, departs)| *departs <= now).map(|(packet, _)| packet.id)
    }

    /// Returns the next packet that has left by `now`, if any; the packet after it goes into service at the
    /// moment of that departure. `about` looks a packet up. Call until it returns `None`.
    /// [`Link::next_dropped`] returns the packets that the queue dropped meanwhile.
    pub fn poll(&mut self, now: Instant, about: impl FnOnce(PacketId) -> PacketInfo) -> Option<Delivery> {
        if self.release_at.is_some() {
            self.served_by(now)?;
        }
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
