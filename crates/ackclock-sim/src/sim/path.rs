//! The path of a packet from its endpoint over links to the other endpoint, and the state that it needs apart
//! from flows.

use std::iter::successors;

use ackclock_engine::Transmit;
use ackclock_policy::PacketId;
use ackclock_units::{Duration, Ecn, Instant, mostly, seldom};

use crate::endpoint::{Port, WayOut};
use crate::error::SimError;
use crate::event::{INBOUND, INDEX, LINK, OUTBOUND, PACKET, POLL};
use crate::fault::PacketInfo;
use crate::lane::{Lane, PacketArrival};
use crate::link::{Carrier, Link};
use crate::packet::{NIL, Packet, Pool};
use crate::queue::{EventQueue, PendingEvent};
use crate::routes::Routes;

use super::met::Met;

/// The network during a run: the present time, pending events, packets, links, and the ports of endpoints.
pub(super) struct Net {
    pub(super) now: Instant,
    /// The insertion number given out last; they break ties.
    order: u64,
    pub(super) queue: EventQueue,
    pub(super) pool: Pool,
    pub(super) links: Vec<LinkState>,
    pub(super) routes: Routes,
    pub(super) ports: Vec<Port>,
    /// What the packets of each endpoint met; shorter than `ports` where nothing happened yet.
    pub(super) met: Vec<Met>,
    ways_out: Vec<WayOut>,
    free_ways_out: Vec<u32>,
    /// Packets dropped, of which the flows have not been notified.
    pub(super) lost: Vec<u32>,
    /// Endpoints of which a packet was duplicated, not notified yet.
    pub(super) copied: Vec<u32>,
    /// The error that stopped the run.
    pub(super) error: Option<SimError>,
}

impl Net {
    pub(super) fn new(links: Vec<LinkState>, routes: Routes) -> Self {
        Self {
            now: Instant::ZERO,
            order: 0,
            queue: EventQueue::new(),
            pool: Pool::new(),
            links,
            routes,
            ports: Vec::new(),
            met: Vec::new(),
            ways_out: Vec::new(),
            free_ways_out: Vec::new(),
            lost: Vec::new(),
            copied: Vec::new(),
            error: None,
        }
    }

    #[cold]
    pub(super) fn fail(&mut self, error: SimError) {
        self.error.get_or_insert(error);
    }

    /// Attaches an endpoint. Packets from it are delayed by `up` and then take `route`; those to it are
    /// delayed by `down` after their last link.
    pub(super) fn attach(
        &mut self,
        e: u32,
        (up, down): (Duration, Duration),
        route: (u32, u32),
    ) -> Result<(), SimError> {
        if let Some(met) = self.met.get_mut(e as usize) {
            *met = Met::default();
        }
        // The previous endpoint with this number may have had a way out.
        self.free_ways_out.extend(self.ports[e as usize].out());
        self.ports[e as usize] = if up.is_zero() && route.1 > 0 {
            Port::straight(down, route)
        } else {
            Port::with_way_out(down, route, self.way_out(WayOut { delay: up, lane: Lane::EMPTY })?)
        };
        Ok(())
    }

    fn way_out(&mut self, way: WayOut) -> Result<u32, SimError> {
        if let Some(out) = self.free_ways_out.pop() {
            self.ways_out[out as usize] = way;
            return Ok(out);
        }
        if self.ways_out.len() == Port::OUT_LIMIT {
            return Err(SimError::TooMany(
                "endpoints behind a delay of their own at a time",
                Port::OUT_LIMIT as u64,
            ));
        }
        self.ways_out.push(way);
        Ok(self.ways_out.len() as u32 - 1)
    }

    /// The sum of an endpoint's access delays.
    pub(super) fn access(&self, e: u32) -> Duration {
        let port = &self.ports[e as usize];
        port.down + port.out().map_or(Duration::ZERO, |out| self.ways_out[out as usize].delay)
    }

    pub(super) fn schedule(&mut self, at: Instant, what: u32) {
        self.order += 1;
        self.queue.push(PendingEvent { at, order: self.order, what });
    }

    /// Sends a segment. `retransmission` and `seen` come from the ground truth ([`crate::truth`]).
    #[inline(always)]
    pub(super) fn send(&mut self, e: u32, t: &Transmit, retransmission: bool, seen: u8) {
        let id = self.pool.segment(e, t, retransmission, seen);
        self.depart(id, e);
    }

    /// Links that the original of the copy `t` had passed, if it was dropped already and its flow has not
    /// been notified.
    #[cold]
    pub(super) fn passed_by_original(&self, e: u32, t: &Transmit) -> Option<u8> {
        let dropped = self.lost.iter().map(|id| self.pool.get(*id));
        dropped
            .filter(|p| (p.from, p.offset(), u32::from(p.len)) == (e, t.offset, t.segment.len))
            .map(|p| p.hop.max(p.seen))
            .max()
    }

    /// Sends a new packet from its endpoint.
    #[inline(always)]
    pub(super) fn depart(&mut self, id: u32, from: u32) {
        let port = &self.ports[from as usize];
        let Some(out) = port.out() else { return self.offer(id) };
        let way = &mut self.ways_out[out as usize];
        let mut at = self.now + way.delay;
        if port.hops() == 0 {
            // Without a link in between, the other end's delay is added here.
            at += self.ports[from as usize ^ 1].down;
        }
        self.order += 1;
        let arrival = PacketArrival { id, at, order: self.order };
        way.lane.push(arrival, &mut self.pool, &mut self.queue, OUTBOUND | out);
    }

    /// Removes the first packet of a lane. Returns it and, when the next one arrives at the same time, that
    /// one's insertion number; in that case the next one has not been put in the event queue.
    #[inline]
    pub(super) fn take(&mut self, what: u32) -> (u32, Option<u64>) {
        let i = (what & INDEX) as usize;
        let lane = match what & !INDEX {
            kind if mostly(kind == INBOUND) => &mut self.ports[i].inbound,
            OUTBOUND => &mut self.ways_out[i].lane,
            _ => &mut self.links[i].lane,
        };
        let id = lane.pop(&self.pool);
        let Some((at, order)) = lane.next(&self.pool, self.now, self.order) else { return (id, None) };
        if seldom(at == self.now) {
            return (id, Some(order));
        }
        self.queue.push(PendingEvent { at, order, what });
        (id, None)
    }

    /// Returns true when no event in the queue precedes a lane's next packet, which arrives now; otherwise
    /// puts that packet's event in the queue.
    #[inline]
    pub(super) fn comes_first(&mut self, order: u64, what: u32) -> bool {
        if self.queue.peek().is_none_or(|e| (self.now, order) < (e.at, e.order)) {
            return true;
        }
        self.queue.push(PendingEvent { at: self.now, order, what });
        false
    }

    /// Moves a packet from the link that it was on, if any, to the next one.
    #[inline(never)]
    pub(super) fn forward(&mut self, id: u32) {
        let p = self.pool.get(id);
        let (from, hop, corrupt) = (p.from, p.hop, p.is_corrupt());
        self.leave_link(from, hop, corrupt);
        self.offer(id);
    }

    /// Offers a packet to its next link.
    #[inline(always)]
    fn offer(&mut self, id: u32) {
        let p = self.pool.get(id);
        let route = self.ports[p.from as usize].route;
        let number = self.routes.link(route, p.hop);
        let place = &mut self.links[number as usize];
        if mostly(place.link.is_plain()) {
            let data = p.is_data();
            let packet = self.pool.queued(id, p, self.now);
            return match place.link.offer_plain(packet, data) {
                Some((at, marked)) => {
                    place.put_on_wire(self.pool.get_mut(id), marked);
                    self.travel(id, number, at);
                }
                None => self.lost.push(id),
            };
        }
        self.carry(id, number);
    }

    /// Offers a packet to a link that is not plain: with a queue that must be polled, with faults, or without
    /// a rate.
    #[inline(never)]
    fn carry(&mut self, id: u32, number: u32) {
        let packet = self.pool.queued(id, self.pool.get(id), self.now);
        let mut carrier = OnLink { net: self, number };
        if carrier.link().is_fifo() {
            return carrier.carry(packet);
        }
        carrier.queue(packet);
        self.poll_later(number);
    }

    /// Handles a poll event: the link has served a packet.
    #[inline(never)]
    pub(super) fn poll_link(&mut self, number: u32) {
        let (now, place) = (self.now, &mut self.links[number as usize]);
        if now < place.poll {
            // An earlier poll, since a packet arrived, has replaced this one.
            return;
        }
        place.poll = Instant::FAR_FUTURE;
        if place.link.has_faults() || place.link.latest_sojourn().is_some() {
            OnLink { net: self, number }.serve(now);
        } else {
            self.serve_without_faults(number);
        }
        self.poll_later(number);
    }

    /// As [`Carrier::serve`], for a link without faults.
    #[inline(always)]
    fn serve_without_faults(&mut self, number: u32) {
        loop {
            let (place, pool) = (&mut self.links[number as usize], &mut self.pool);
            let Some((id, at, marked)) = place.link.poll_plain(self.now, |id| pool.get(id.0).is_data())
            else {
                while let Some(id) = place.link.next_dropped() {
                    self.lost.push(id.0);
                }
                return;
            };
            place.put_on_wire(pool.get_mut(id.0), marked);
            self.travel(id.0, number, at);
        }
    }

    fn poll_later(&mut self, number: u32) {
        let place = &mut self.links[number as usize];
        if let Some(at) = place.link.next_departure().filter(|at| *at < place.poll) {
            place.poll = at;
            self.schedule(at, POLL | number);
        }
    }

    /// Every packet on its way to its next link or its endpoint, with its arrival time.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = (&Packet, Instant)> {
        let first = |PendingEvent { at, what, .. }: PendingEvent| {
            let i = (what & INDEX) as usize;
            let id = match what & !INDEX {
                INBOUND => self.ports[i].inbound.first(),
                OUTBOUND => self.ways_out[i].lane.first(),
                LINK => self.links[i].lane.first(),
                PACKET => i as u32,
                _ => NIL,
            };
            (id, at)
        };
        // A packet of a lane arrives less than `Packet::SPAN` after the one before it.
        let behind = |(id, at): (u32, Instant)| (id != NIL).then(|| self.pool.get(id)).map(|p| (p, p.at(at)));
        self.queue
            .pending()
            .filter_map(move |e| behind(first(e)))
            .flat_map(move |head| successors(Some(head), move |(p, at)| behind((p.next, *at))))
    }

    /// Schedules the arrival of a packet on a link's wire at the far end, at `at`.
    #[inline(always)]
    fn travel(&mut self, id: u32, number: u32, at: Instant) {
        let p = self.pool.get_mut(id);
        p.set_waits(false);
        p.hop += 1;
        let (from, hop) = (p.from, u32::from(p.hop));
        self.order += 1;
        let order = self.order;
        if hop == self.ports[from as usize].hops() {
            // The other end of the pair.
            let to = from ^ 1;
            let port = &mut self.ports[to as usize];
            if !port.down.is_zero() {
                let at = at + port.down;
                return port.inbound.push(
                    PacketArrival { id, at, order },
                    &mut self.pool,
                    &mut self.queue,
                    INBOUND | to,
                );
            }
        }
        let lane = &mut self.links[number as usize].lane;
        lane.push(PacketArrival { id, at, order }, &mut self.pool, &mut self.queue, LINK | number);
    }

    /// True when a packet has not passed all links of its route.
    #[inline]
    pub(super) fn has_links_ahead(&self, id: u32) -> bool {
        let p = self.pool.get(id);
        u32::from(p.hop) < self.ports[p.from as usize].hops()
    }

    /// Counts a packet out of the link that it was on.
    #[inline]
    pub(super) fn leave_link(&mut self, from: u32, hop: u8, corrupt: bool) {
        if hop > 0 {
            let last = self.routes.link(self.ports[from as usize].route, hop - 1);
            self.links[last as usize].leave(corrupt);
        }
    }
}

/// A link with its state in the run.
pub(super) struct LinkState {
    pub(super) link: Link,
    pub(super) lane: Lane,
    /// Time of the pending poll, for a link that must be polled.
    pub(super) poll: Instant,
    /// Packets that have left it at its far end.
    pub(super) delivered: u64,
    pub(super) delivered_corrupt: u64,
    /// Data packets that repeat bytes already carried over this link by an earlier copy, and payload bytes
    /// that do not.
    pub(super) repeated: u64,
    pub(super) unique_bytes: u64,
}

/// Takes packets of the network over one of its links.
struct OnLink<'a> {
    net: &'a mut Net,
    number: u32,
}

impl Carrier for OnLink<'_> {
    fn link(&mut self) -> &mut Link {
        &mut self.net.links[self.number as usize].link
    }

    fn packet_info(&self, id: PacketId) -> PacketInfo {
        self.net.pool.packet_info(id.0)
    }

    fn waits(&mut self, id: PacketId) {
        self.net.pool.get_mut(id.0).set_waits(true);
    }

    fn waited(&mut self, id: PacketId, time: Duration) {
        let from = self.net.pool.get(id.0).from;
        self.net.met_by(from).wait(time);
    }

    fn mark(&mut self, id: PacketId) {
        self.net.pool.get_mut(id.0).set_ecn(Ecn::Ce);
    }

    fn on_wire(&mut self, id: PacketId, corrupt: bool) {
        let p = self.net.pool.get_mut(id.0);
        if corrupt {
            p.set_corrupt();
        }
        if p.len > 0 {
            self.net.links[self.number as usize].count(p);
        }
    }

    fn copy(&mut self, id: PacketId) -> PacketId {
        let copy = self.net.pool.copy(id.0);
        self.net.copied.push(self.net.pool.get(copy).from);
        PacketId(copy)
    }

    fn arrives(&mut self, id: PacketId, at: Instant) {
        self.net.travel(id.0, self.number, at);
    }

    fn lost(&mut self, id: PacketId) {
        self.net.lost.push(id.0);
    }
}

impl LinkState {
    /// A link without faults puts a packet on the wire.
    #[inline(always)]
    fn put_on_wire(&mut self, p: &mut Packet, marked: bool) {
        if seldom(marked) {
            p.set_ecn(Ecn::Ce);
        }
        if p.len > 0 {
            self.count(p);
        }
    }

    /// Counts the payload of a packet put on the wire.
    #[inline(always)]
    fn count(&mut self, p: &Packet) {
        if seldom(p.hop < p.seen) {
            self.repeated += 1;
        } else {
            self.unique_bytes += u64::from(p.len);
        }
    }

    /// Counts a packet that has left the link at its far end.
    #[inline]
    fn leave(&mut self, corrupt: bool) {
        self.delivered += 1;
        self.delivered_corrupt += u64::from(corrupt);
    }
}
