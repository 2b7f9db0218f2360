//! Takes packets over a link: offers, polls, drops, duplicates them.

use ackclock_policy::{PacketId, Queued};
use ackclock_units::{Duration, Instant, seldom};

use super::delivery::{Delivery, Offer};
use super::state::Link;
use crate::fault::PacketInfo;

/// Takes packets over a [`Link`]. The implementor stores the packets and handles each outcome; the provided
/// methods make the calls to the link in the one order that it allows. Each packet is either
/// [lost](Carrier::lost), or goes [on the wire](Carrier::on_wire) and [arrives](Carrier::arrives).
pub trait Carrier {
    /// The link.
    fn link(&mut self) -> &mut Link;

    /// What the link's faults see of a packet.
    fn packet_info(&self, id: PacketId) -> PacketInfo;

    /// A packet waits in a queue that must be polled: call [`Carrier::serve`] at [`Link::next_departure`].
    /// Does nothing by default.
    fn waits(&mut self, _id: PacketId) {}

    /// The queue sets Congestion Experienced on a packet, which waits or is about to go on the wire.
    fn mark(&mut self, id: PacketId);

    /// A packet has waited in the queue for this time, on a link whose sojourn times are measured. Does nothing
    /// by default.
    fn waited(&mut self, _id: PacketId, _time: Duration) {}

    /// A packet is on the wire, which damages it if `corrupt`. A damaged packet still arrives.
    fn on_wire(&mut self, id: PacketId, corrupt: bool);

    /// The wire duplicates a packet. Returns the id under which the copy arrives, which may be the same.
    fn copy(&mut self, id: PacketId) -> PacketId;

    /// A packet on the wire arrives at the far end of the link at `at`.
    fn arrives(&mut self, id: PacketId, at: Instant);

    /// A packet is gone: the queue refused it, pushed it out or dropped it later, or the wire lost it.
    fn lost(&mut self, id: PacketId);

    /// Offers a packet to the link at `packet.at`, which must not be earlier than in any previous call.
    fn carry(&mut self, packet: Queued) {
        if !self.link().is_fifo() {
            return self.queue(packet);
        }
        let about = self.packet_info(packet.id);
        match self.link().offer(packet, &about) {
            Offer::Sent(delivery) => {
                note_wait(self, packet.id);
                leave(self, &delivery);
            }
            Offer::Refused => self.lost(packet.id),
            // Unreachable: only a link that is polled lets packets wait.
            Offer::Waits { .. } => {}
        }
    }

    /// As [`Carrier::carry`], for a link that must be polled.
    #[inline(always)]
    fn queue(&mut self, packet: Queued) {
        match self.link().offer_scheduled(packet) {
            Some(marked) => {
                self.waits(packet.id);
                if seldom(marked) {
                    self.mark(packet.id);
                }
            }
            None => self.lost(packet.id),
        }
        drop_queued(self);
    }

    /// Handles the packets that the link has served by `until`. Does nothing for a link that is never polled
    /// ([`Link::is_fifo`]).
    fn serve(&mut self, until: Instant) {
        while let Some(id) = self.link().served_by(until) {
            note_wait(self, id);
            let about = self.packet_info(id);
            let Some(delivery) = self.link().poll(until, |_| about) else { break };
            leave(self, &delivery);
        }
        drop_queued(self);
    }
}

#[inline]
fn note_wait<C: Carrier + ?Sized>(carrier: &mut C, id: PacketId) {
    if let Some(time) = carrier.link().latest_sojourn() {
        carrier.waited(id, time);
    }
}

/// Handles a packet that has left the queue: it is lost on the wire, or arrives once or twice.
#[inline]
fn leave<C: Carrier + ?Sized>(carrier: &mut C, delivery: &Delivery) {
    let id = delivery.id;
    if delivery.lost {
        return carrier.lost(id);
    }
    if delivery.marked {
        carrier.mark(id);
    }
    carrier.on_wire(id, delivery.corrupt);
    // The copy has the marks and the damage of the original.
    let second = delivery.copy_at.map(|at| (carrier.copy(id), at));
    carrier.arrives(id, delivery.at);
    if let Some((copy, at)) = second {
        carrier.arrives(copy, at);
    }
}

/// Handles packets that the queue admitted and dropped later.
#[inline]
fn drop_queued<C: Carrier + ?Sized>(carrier: &mut C) {
    while let Some(id) = carrier.link().next_dropped() {
        carrier.lost(id);
    }
}
