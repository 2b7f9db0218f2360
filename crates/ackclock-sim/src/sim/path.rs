//! A packet's way: from its endpoint over links to the other endpoint.

use ackclock_policy::{PacketId, Queued};
use ackclock_units::{Duration, Ecn, Instant};

use super::{INBOUND, LINK, OUTBOUND, PACKET, POLL, Simulation};
use crate::link::{Delivery, Offer};
use crate::packet::NIL;

impl Simulation {
    /// Lets a new packet leave its endpoint.
    #[inline]
    pub(super) fn depart(&mut self, id: u32) {
        let from = self.pool.get(id).from;
        let down = self.ports[from as usize ^ 1].down;
        let port = &mut self.ports[from as usize];
        if port.up.is_zero() && port.hops > 0 {
            return self.forward(id);
        }
        self.order += 1;
        // Without a link in between the other end's delay follows at once.
        let at = self.now + port.up + if port.hops > 0 { Duration::ZERO } else { down };
        port.outbound.push(id, at, self.order, &mut self.pool, &mut self.queue, OUTBOUND | from, PACKET | id);
    }

    /// Packets reach an endpoint.
    #[inline]
    pub(super) fn inbound(&mut self, end: u32) {
        loop {
            let id = self.ports[end as usize].inbound.pop(&self.pool);
            let next = self.ports[end as usize].inbound.next(&self.pool);
            let again = self.is_next(next, INBOUND | end);
            self.deliver(id);
            if !again || self.fault.is_some() {
                return;
            }
            if !self.still_next(next, INBOUND | end) {
                return;
            }
        }
    }

    /// Packets of an endpoint reach its first link.
    pub(super) fn outbound(&mut self, end: u32) {
        loop {
            let id = self.ports[end as usize].outbound.pop(&self.pool);
            let next = self.ports[end as usize].outbound.next(&self.pool);
            let again = self.is_next(next, OUTBOUND | end);
            self.arrive(id);
            if !again || !self.still_next(next, OUTBOUND | end) {
                return;
            }
        }
    }

    /// Packets leave a link at its far end.
    pub(super) fn link_lane(&mut self, link: u32) {
        loop {
            let id = self.links[link as usize].lane.pop(&self.pool);
            let next = self.links[link as usize].lane.next(&self.pool);
            let again = self.is_next(next, LINK | link);
            self.arrive(id);
            if !again || self.fault.is_some() || !self.still_next(next, LINK | link) {
                return;
            }
        }
    }

    /// True when the lane's next packet arrives at this very moment, so that it may be handled without going through the queue; otherwise it is
    /// put there.
    #[inline]
    fn is_next(&mut self, next: Option<(Instant, u64)>, what: u32) -> bool {
        let Some((at, order)) = next else { return false };
        if at == self.now {
            return true;
        }
        self.queue.push(crate::queue::Entry { at, order, what });
        false
    }

    /// True when nothing in the queue comes before the lane's next packet; otherwise that is put there.
    #[inline]
    fn still_next(&mut self, next: Option<(Instant, u64)>, what: u32) -> bool {
        let Some((at, order)) = next else { return false };
        if self.queue.peek().is_none_or(|e| (at, order) < (e.at, e.order)) {
            return true;
        }
        self.queue.push(crate::queue::Entry { at, order, what });
        false
    }

    /// A packet reaches its next link or its endpoint.
    #[inline]
    pub(super) fn arrive(&mut self, id: u32) {
        let p = self.pool.get(id);
        if u32::from(p.hop) < self.ports[p.from as usize].hops { self.forward(id) } else { self.deliver(id) }
    }

    /// Offers a packet to its next link.
    pub(super) fn forward(&mut self, id: u32) {
        let p = self.pool.get(id);
        let port = &self.ports[p.from as usize];
        if p.hop > 0 {
            let before = self.routes.link(port.route, p.hop - 1);
            let before = &mut self.links[before as usize];
            before.delivered += 1;
            before.delivered_corrupt += u64::from(p.is_corrupt());
        }
        let number = self.routes.link(port.route, p.hop);
        let place = &mut self.links[number as usize];
        let packet = Queued { id: PacketId(id), bytes: p.bytes, ecn: p.ecn(), at: self.now };
        let offer = place.link.offer(packet, &p.passing(p.from / 2));
        match offer {
            Offer::Sent(delivery) => self.served(number, &delivery),
            Offer::Waits { marked } => {
                let p = self.pool.get_mut(id);
                p.set_waits(true);
                if marked {
                    p.set_ecn(Ecn::Ce);
                }
            }
            Offer::Refused => self.lose(id),
        }
        if !self.links[number as usize].link.tells_at_once() {
            self.after_service(number);
        }
    }

    /// A link that must be polled has served a packet.
    pub(super) fn poll_link(&mut self, number: u32) {
        self.links[number as usize].poll = Instant::FAR_FUTURE;
        loop {
            let pool = &self.pool;
            let delivery = self.links[number as usize].link.poll(self.now, |id| {
                let p = pool.get(id.0);
                p.passing(p.from / 2)
            });
            let Some(delivery) = delivery else { break };
            self.served(number, &delivery);
        }
        self.after_service(number);
    }

    fn after_service(&mut self, number: u32) {
        while let Some(id) = self.links[number as usize].link.next_dropped() {
            self.lose(id.0);
        }
        let place = &mut self.links[number as usize];
        if let Some(at) = place.link.next_departure().filter(|at| *at < place.poll) {
            place.poll = at;
            self.schedule(at, POLL | number);
        }
    }

    /// A packet has left a link's queue.
    #[inline]
    fn served(&mut self, number: u32, d: &Delivery) {
        let id = d.id.0;
        if d.lost {
            return self.lose(id);
        }
        let copy = d.copy_at.map(|at| (self.pool.copy(id), at));
        let p = self.pool.get_mut(id);
        if d.marked {
            p.set_ecn(Ecn::Ce);
        }
        if d.corrupt {
            p.set_corrupt();
        }
        if p.len > 0 {
            let place = &mut self.links[number as usize];
            if p.hop < p.seen {
                place.repeated += 1;
            } else {
                place.unique_bytes += u64::from(p.len);
            }
        }
        self.travel(id, number, d.at);
        if let Some((copy, at)) = copy {
            self.duplicated(copy);
            self.travel(copy, number, at);
        }
    }

    /// Lets a packet that is on a link's wire arrive at the far end at `at`.
    #[inline]
    fn travel(&mut self, id: u32, number: u32, at: Instant) {
        let p = self.pool.get_mut(id);
        p.set_waits(false);
        p.hop += 1;
        let from = p.from;
        let last = u32::from(p.hop) == self.ports[from as usize].hops;
        self.order += 1;
        if last {
            // The other end of the pair.
            let to = from ^ 1;
            let port = &mut self.ports[to as usize];
            if !port.down.is_zero() {
                return port.inbound.push(id, at + port.down, self.order, &mut self.pool, &mut self.queue, INBOUND | to, PACKET | id);
            }
        }
        let lane = &mut self.links[number as usize].lane;
        lane.push(id, at, self.order, &mut self.pool, &mut self.queue, LINK | number, PACKET | id);
    }

    /// Counts a packet out of the last link of its route.
    #[inline]
    pub(super) fn leave_last_link(&mut self, id: u32) {
        let p = self.pool.get(id);
        if p.hop > 0 {
            let last = self.routes.link(self.ports[p.from as usize].route, p.hop - 1);
            let last = &mut self.links[last as usize];
            last.delivered += 1;
            last.delivered_corrupt += u64::from(p.is_corrupt());
        }
        debug_assert!(p.from != NIL);
    }
}
