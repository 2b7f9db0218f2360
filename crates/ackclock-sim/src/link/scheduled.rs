//! A link whose queue has a scheduler: it is polled when the packet in service has left.

use ackclock_policy::{Admit, Backlog, PacketId, Queued};
use ackclock_units::{Duration, Instant, seldom};

use super::delivery::Delivery;
use super::medium::MediumEnd;
use super::state::Link;
use crate::fault::PacketInfo;

impl Link {
    /// Offers a packet to a link that is not first-in first-out. Returns whether the queue marked it, or `None`
    /// when it was refused.
    #[inline(always)]
    pub(super) fn offer_scheduled(&mut self, mut packet: Queued) -> Option<bool> {
        self.counters.offered += 1;
        self.counters.offered_bytes += u64::from(packet.bytes);
        let now = packet.at;
        self.integrate(now);
        let mut policed = false;
        if seldom(self.elements.is_some()) {
            let Some(marks) = self.check_arrival(&mut packet) else {
                self.refuse(packet.bytes);
                return None;
            };
            policed = marks;
            if let (0, Some(state)) = (self.waiting.packets, &mut self.elements) {
                state.waiting_since = now;
            }
        }
        let marked = match self.queue.as_mut().map(|queue| queue.enqueue(packet, now, &mut self.rng)) {
            Some(Admit::Take) => false,
            Some(Admit::Mark) => true,
            Some(Admit::PushOut(id)) => {
                self.push_out(id, packet.bytes);
                false
            }
            Some(Admit::Drop { early }) => {
                self.counters.early_drops += u64::from(early);
                self.refuse(packet.bytes);
                return None;
            }
            None => {
                self.refuse(packet.bytes);
                return None;
            }
        };
        let marked = marked || policed;
        self.waiting = self.queue.as_ref().map_or(Backlog::default(), |queue| queue.backlog());
        self.counters.marked += u64::from(marked);
        if seldom(self.in_service.is_none()) {
            self.serve_first(now);
        } else {
            self.note_backlog(self.waiting);
        }
        Some(marked)
    }

    /// Counts packet `id`, and what else the queue has pushed out for a packet of `bytes`.
    #[cold]
    fn push_out(&mut self, id: PacketId, bytes: u32) {
        let Some(queue) = &mut self.queue else { return };
        let dropped_before = self.dropped.len();
        self.dropped.push(id);
        if let Some(scheduler) = queue.scheduler() {
            scheduler.pushed_out(&mut self.dropped);
        }
        let pushed = (self.dropped.len() - dropped_before) as u64;
        self.counters.queue_drops += pushed;
        self.counters.pushed_out += pushed;
        let full = self.waiting.bytes + u64::from(bytes);
        self.counters.queue_drop_bytes += full.saturating_sub(queue.backlog().bytes);
    }

    #[inline]
    fn note_backlog(&mut self, backlog: Backlog) {
        self.counters.max_backlog = self.counters.max_backlog.max(backlog.bytes);
        self.counters.max_backlog_packets = self.counters.max_backlog_packets.max(backlog.packets);
    }

    /// As [`Link::serve`], not inlined, for rare callers.
    #[inline(never)]
    fn serve_first(&mut self, now: Instant) {
        self.serve(now);
    }

    /// Takes the next packet from the scheduler and puts it into service. An empty scheduler is asked too: a
    /// fair queue learns so that a flow has become idle.
    #[inline(always)]
    fn serve(&mut self, now: Instant) {
        (self.in_service, self.release_at, self.marked) = (None, None, false);
        self.integrate(now);
        if seldom(self.elements.is_some()) && !self.may_begin(now) {
            return;
        }
        let Some(queue) = &mut self.queue else { return };
        let dropped_before = self.dropped.len();
        let Some(scheduler) = queue.scheduler() else { return };
        let next = scheduler.dequeue(now, &mut self.dropped);
        if seldom(next.is_none()) {
            // A release that has come already would be tried again and again.
            self.release_at = scheduler.next_release().filter(|at| *at > now);
        }
        let left = queue.backlog();
        let dropped = (self.dropped.len() - dropped_before) as u64;
        if seldom(dropped > 0) {
            let served = next.map_or(0, |d| u64::from(d.packet.bytes));
            self.counters.queue_drops += dropped;
            self.counters.shed += dropped;
            self.counters.queue_drop_bytes += self.waiting.bytes.saturating_sub(left.bytes + served);
        }
        self.waiting = left;
        if let Some(d) = next {
            if let Some(sojourns) = &mut self.sojourns {
                sojourns.add(d.packet.at, now);
            }
            let departs = if seldom(self.elements.is_some()) {
                self.departs_with_elements(d.packet.bytes, now)
            } else {
                now + self.time_to_send(d.packet.bytes)
            };
            (self.in_service, self.marked) = (Some((d.packet, departs)), d.marked);
            self.counters.busy += departs.since(now);
        }
    }

    /// True when a packet may go into service now: it is this end's turn at a shared medium, or a moment at which
    /// the link sends. Otherwise sets when to try again, if anything waits.
    #[cold]
    fn may_begin(&mut self, now: Instant) -> bool {
        let (Some(queue), Some(state)) = (&self.queue, &self.elements) else { return true };
        let waiting = queue.backlog();
        let begins = match &state.elements.medium {
            Some(medium) if waiting.packets == 0 => {
                medium.is_idle();
                return false;
            }
            Some(medium) => medium.turn(now),
            None if self.has_moments() && waiting.packets > 0 => self.begins(now),
            None => now,
        };
        if begins > now {
            self.release_at = Some(begins);
            self.note_backlog(waiting);
        }
        begins <= now
    }

    /// When a packet of `bytes` that goes into service now will have left, on a link with elements.
    #[cold]
    fn departs_with_elements(&mut self, bytes: u32, now: Instant) -> Instant {
        let medium = self.elements.as_ref().and_then(|state| state.elements.medium.clone());
        let idle = self.free_at < now && !(medium.is_none() && self.has_moments());
        let gap = medium.as_ref().map_or(Duration::ZERO, MediumEnd::gap);
        let departs = self.finish(bytes, now + gap, idle);
        if let Some(medium) = medium {
            medium.occupies(departs);
        }
        departs
    }

    /// When to poll it: when the packet in service will have left, when a scheduler that paces will let the
    /// next one go into service, or when a shared medium may be free. `None` when nothing waits, and for a link
    /// that is never polled ([`Link::is_fifo`]).
    pub fn next_departure(&self) -> Option<Instant> {
        self.in_service.map(|(_, departs)| departs).or(self.release_at)
    }

    /// The packet that the next call of [`Link::poll`] with `now` returns.
    #[inline]
    pub fn served_by(&mut self, now: Instant) -> Option<PacketId> {
        while let Some(at) = self.release_at.filter(|at| *at <= now) {
            self.serve_first(at);
        }
        self.in_service.filter(|(_, departs)| *departs <= now).map(|(packet, _)| packet.id)
    }

    /// Returns the next packet that has left by `now`, if any; the packet after it goes into service at the
    /// moment of that departure. `about` looks a packet up. Call until it returns `None`.
    /// [`Link::next_dropped`] returns the packets that the queue dropped meanwhile.
    pub fn poll(&mut self, now: Instant, about: impl FnOnce(PacketId) -> PacketInfo) -> Option<Delivery> {
        let (packet, departs, marked) = self.next_served(now)?;
        Some(self.leave(packet, &about(packet.id), departs, marked))
    }

    /// As [`Link::poll`], for a link without faults. Returns the packet, when it arrives, and whether it was
    /// marked as it left the queue. `is_data`: whether a packet carries payload.
    #[inline(always)]
    pub(crate) fn poll_plain(
        &mut self,
        now: Instant,
        is_data: impl FnOnce(PacketId) -> bool,
    ) -> Option<(PacketId, Instant, bool)> {
        let (packet, departs, marked) = self.next_served(now)?;
        self.count_served(packet.bytes, is_data(packet.id), marked);
        Some((packet.id, departs + self.delay, marked))
    }

    /// The next packet that has left by `now`, when it left, and whether it was marked.
    #[inline(always)]
    fn next_served(&mut self, now: Instant) -> Option<(Queued, Instant, bool)> {
        if self.release_at.is_some() {
            self.served_by(now)?;
        }
        let (packet, departs) = self.in_service.filter(|(_, departs)| *departs <= now)?;
        let marked = self.marked;
        self.counters.marked_leaving += u64::from(marked);
        self.free_at = departs;
        self.serve(departs);
        Some((packet, departs, marked))
    }

    /// True when faults or elements act on packets on the wire.
    #[inline]
    pub(crate) fn has_faults(&self) -> bool {
        self.disturbed
    }

    /// Returns a packet that was admitted and has been dropped since. Call until it returns `None`, after
    /// [`Link::offer`], [`Link::served_by`] and [`Link::poll`].
    pub fn next_dropped(&mut self) -> Option<PacketId> {
        self.dropped.pop()
    }
}
