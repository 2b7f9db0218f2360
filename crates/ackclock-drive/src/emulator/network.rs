//! The emulator's links, which are the simulator's, and the real packets on them. It has no clock and no
//! device.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use ackclock_policy::{PacketId, Queued};
use ackclock_sim::{Carrier, Link, LinkCounters, PacketInfo, Passed};
#[cfg(test)]
use ackclock_units::Bytes;
use ackclock_units::{Duration, Instant};
use ackclock_wire::SackBlocks;

use super::flow_numbers::FlowNumbers;
use super::held::Held;
use super::packet::describe;
use super::routes::Routes;
use super::streams::{SackListener, Streams};

/// Packets by time, then by the order of their events: time, order, number.
type Pending = BinaryHeap<Reverse<(Instant, u64, u32)>>;

/// Links between ports.
pub(crate) struct Network {
    pub(super) lanes: Vec<Lane>,
    routes: Routes,
    flows: FlowNumbers,
    pub(super) streams: Streams,
    pub(super) held: Held,
    /// Packets that have come in and not reached their first link.
    entering: Pending,
    /// Packets that have passed their last link, with the time at which they are due at their port.
    leaving: Pending,
    order: u64,
    refused: u64,
}

/// A link of an emulator and the packets on its wire.
pub struct Lane {
    /// The link.
    pub link: Link,
    wire: Pending,
    /// What has come out at its far end.
    passed: Passed,
    /// Numbers of damaged packets on its wire.
    damaged: Vec<u32>,
}

impl Network {
    pub(super) fn new(links: impl IntoIterator<Item = Link>, routes: Routes) -> Self {
        let streams = Streams::of(routes.ways(), None);
        // Without streams nobody knows what is repeated.
        let counted = (!streams.met.is_empty()).then_some(0);
        let passed = Passed { repeated: counted, unique_bytes: counted, ..Passed::default() };
        let lane = |link| Lane { link, wire: Pending::new(), passed, damaged: Vec::new() };
        Self {
            lanes: links.into_iter().map(lane).collect(),
            routes,
            flows: FlowNumbers::default(),
            streams,
            held: Held::default(),
            entering: Pending::new(),
            leaving: Pending::new(),
            order: 0,
            refused: 0,
        }
    }

    /// Records all segments of streams.
    pub(super) fn log_segments(&mut self) {
        self.streams.log.segments = Some(Vec::new());
    }

    /// Reports what acks say to have arrived out of order.
    pub(super) fn watch_sacks(&mut self, listener: Arc<dyn SackListener>) {
        self.streams = Streams::of(self.routes.ways(), Some(listener));
    }

    /// Takes a packet from a port at `now`, which must not be earlier than in a previous call.
    pub(super) fn offer(&mut self, port: usize, now: Instant, packet: &[u8]) {
        let mut about = describe(packet);
        let ends = about.ends.map(|(a, b)| (a.ip(), b.ip()));
        let Some(way) = self.routes.find(port, ends).filter(|_| !self.held.is_full(packet.len())) else {
            self.refused += 1;
            return;
        };
        let flow = self.flows.number(about.ends);
        if let Some(stream) = way.stream {
            let placed = self.streams.place(stream, about.segment.as_ref(), about.info, now);
            (about.info, about.seen) = (placed.info, placed.seen);
            about.sacked =
                about.segment.map_or(SackBlocks::NONE, |segment| self.streams.sacked(stream, &segment));
        }
        let id = self.held.insert(packet, &about, flow, way);
        push(&mut self.entering, &mut self.order, now + way.before, id);
    }

    /// Carries packets until `now`, and passes those that arrive to `deliver` in order, with their port and
    /// their due time. Every link sees its packets in the order of time.
    pub(super) fn carry(&mut self, now: Instant, mut deliver: impl FnMut(usize, Instant, &[u8])) {
        while let Some(at) = self.next().filter(|at| *at <= now) {
            while let Some(id) = pop(&mut self.entering, at) {
                self.go_on(at, id);
            }
            for number in 0..self.lanes.len() {
                if self.lanes[number].next().is_some_and(|next| next <= at) {
                    self.on_lane(number, |carrying| carrying.serve(at));
                    while let Some(id) = pop(&mut self.lanes[number].wire, at) {
                        self.lanes[number].count_over(id);
                        self.held.packets[id as usize].hop += 1;
                        self.go_on(at, id);
                    }
                }
            }
            while let Some(&Reverse((due, _, id))) = self.leaving.peek() {
                if due > at {
                    break;
                }
                self.leaving.pop();
                let packet = &self.held.packets[id as usize];
                deliver(self.routes.port(packet.way.route), due, &packet.bytes);
                if packet.damaged {
                    self.streams.drop(packet.way.stream, &packet.info(), u8::MAX);
                } else {
                    self.streams.arrive(packet.way.stream, &packet.bytes, packet.ack, due);
                }
                self.streams.deliver(packet.way.stream, packet.sacked, due);
                self.held.remove(id);
            }
        }
    }

    /// A packet goes to its next link, or to its port.
    fn go_on(&mut self, at: Instant, id: u32) {
        let packet = &self.held.packets[id as usize];
        let Some(number) = self.routes.link(packet.way.route, packet.hop) else {
            return push(&mut self.leaving, &mut self.order, at + packet.way.after, id);
        };
        let (flow, bytes, ecn) = (packet.flow, packet.bytes.len() as u32, packet.ecn);
        self.on_lane(number, |carrying| {
            carrying.serve(at);
            carrying.carry(Queued { id: PacketId(id), flow, bytes, ecn, at });
        });
    }

    fn on_lane(&mut self, number: usize, work: impl FnOnce(&mut Carrying<'_>)) {
        let Self { lanes, held, order, streams, .. } = self;
        work(&mut Carrying { lane: &mut lanes[number], held, order, streams });
    }

    /// When [`Network::carry`] must be called next.
    pub(super) fn next(&self) -> Option<Instant> {
        let ends = [first(&self.entering), first(&self.leaving)].into_iter().flatten();
        ends.chain(self.lanes.iter().filter_map(Lane::next)).min()
    }

    /// The counters of a link.
    pub(super) fn counters(&mut self, number: usize, now: Instant) -> LinkCounters {
        self.lanes[number].link.counters(now)
    }

    /// Packets that had no way, or no room.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    /// Packets inside.
    pub(super) fn inside(&self) -> usize {
        self.held.packets.len() - self.held.free.len()
    }

    /// Bytes inside.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> Bytes {
        self.held.bytes
    }
}

impl Lane {
    /// What has come out at its far end.
    pub fn passed(&self) -> Passed {
        self.passed
    }

    fn next(&self) -> Option<Instant> {
        [first(&self.wire), self.link.next_departure()].into_iter().flatten().min()
    }

    fn count_over(&mut self, id: u32) {
        self.passed.over += 1;
        if let Some(place) = self.damaged.iter().position(|damaged| *damaged == id) {
            self.damaged.swap_remove(place);
            self.passed.corrupted += 1;
        }
    }
}

fn first(pending: &Pending) -> Option<Instant> {
    pending.peek().map(|Reverse((at, _, _))| *at)
}

fn push(pending: &mut Pending, order: &mut u64, at: Instant, id: u32) {
    pending.push(Reverse((at, *order, id)));
    *order += 1;
}

/// The first packet, if its time has come at `now`.
fn pop(pending: &mut Pending, now: Instant) -> Option<u32> {
    first(pending).filter(|at| *at <= now)?;
    pending.pop().map(|Reverse((_, _, id))| id)
}

/// A link at work.
struct Carrying<'a> {
    lane: &'a mut Lane,
    held: &'a mut Held,
    order: &'a mut u64,
    streams: &'a mut Streams,
}

impl Carrier for Carrying<'_> {
    fn link(&mut self) -> &mut Link {
        &mut self.lane.link
    }

    fn packet_info(&self, id: PacketId) -> PacketInfo {
        self.held.packets[id.0 as usize].info()
    }

    fn mark(&mut self, id: PacketId) {
        self.held.mark(id.0);
    }

    fn waited(&mut self, id: PacketId, time: Duration) {
        if let Some(met) = self.streams.met_by(self.held.packets[id.0 as usize].way.stream) {
            met.wait(time);
        }
    }

    fn on_wire(&mut self, id: PacketId, corrupt: bool) {
        let packet = &self.held.packets[id.0 as usize];
        let payload = packet.info().payload;
        if payload > 0 && packet.way.stream.is_some() {
            let Passed { repeated, unique_bytes, .. } = &mut self.lane.passed;
            if packet.hop < packet.seen {
                *repeated = repeated.map(|n| n + 1);
            } else {
                *unique_bytes = unique_bytes.map(|n| n + u64::from(payload));
            }
        }
        if corrupt {
            self.held.corrupt(id.0);
            self.lane.damaged.push(id.0);
        }
    }

    fn copy(&mut self, id: PacketId) -> PacketId {
        let copy = self.held.copy(id.0);
        if self.lane.damaged.contains(&id.0) {
            self.lane.damaged.push(copy);
        }
        PacketId(copy)
    }

    fn arrives(&mut self, id: PacketId, at: Instant) {
        push(&mut self.lane.wire, self.order, at, id.0);
    }

    fn lost(&mut self, id: PacketId) {
        if let Some(met) = self.streams.met_by(self.held.packets[id.0 as usize].way.stream) {
            met.dropped += 1;
        }
        let packet = &self.held.packets[id.0 as usize];
        self.streams.drop(packet.way.stream, &packet.info(), packet.hop.max(packet.seen));
        self.held.remove(id.0);
    }
}

#[cfg(test)]
mod tests;
