//! Packets over a link: offered, polled for, dropped, copied.

use ackclock_policy::{PacketId, Queued};
use ackclock_units::Instant;

use super::{Delivery, Link, Offer};
use crate::fault::Passing;

/// Takes packets over a [`Link`].
///
/// Whoever keeps the packets says what happens to one of them in each case; the order of calls to the link is
/// the same for all. A packet ends at its link by [`Carrier::lost`], or it goes [on the
/// wire](Carrier::on_wire) and [arrives](Carrier::arrives).
pub trait Carrier {
    /// The link.
    fn link(&mut self) -> &mut Link;

    /// What the link's faults may know of a packet.
    fn passing(&self, id: PacketId) -> Passing;

    /// A packet waits in a queue that must be polled: [`Carrier::serve`] at [`Link::next_departure`]. Nothing
    /// by default.
    fn waits(&mut self, _id: PacketId) {}

    /// The queue sets Congestion Experienced on a packet, which waits or is about to go on the wire.
    fn mark(&mut self, id: PacketId);

    /// A packet is on the wire, which damages it if `corrupt`. It arrives nevertheless.
    fn on_wire(&mut self, id: PacketId, corrupt: bool);

    /// The wire duplicates a packet that is on it. Returns the number under which the second one arrives,
    /// which may be the same.
    fn copy(&mut self, id: PacketId) -> PacketId;

    /// A packet on the wire arrives at the far end of the link at `at`.
    fn arrives(&mut self, id: PacketId, at: Instant);

    /// A packet is gone: the queue refused it, pushed it out or dropped it later, or the wire lost it.
    fn lost(&mut self, id: PacketId);

    /// Offers a packet to the link at `packet.at`, which must not lie before any call before.
    fn carry(&mut self, packet: Queued) {
        let about = self.passing(packet.id);
        match self.link().offer(packet, &about) {
            Offer::Sent(delivery) => leave(self, &delivery),
            Offer::Waits { marked } => {
                self.waits(packet.id);
                if marked {
                    self.mark(packet.id);
                }
            }
            Offer::Refused => self.lost(packet.id),
        }
        drop_queued(self);
    }

    /// Lets the link send what it has sent by `until`. Nothing happens where departures are told at once.
    fn serve(&mut self, until: Instant) {
        while let Some(id) = self.link().served_by(until) {
            let about = self.passing(id);
            let Some(delivery) = self.link().poll(until, |_| about) else { break };
            leave(self, &delivery);
            drop_queued(self);
        }
    }
}

/// What has left the queue is lost on the wire, or arrives once or twice.
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
    // Both are the packet as it went on the wire.
    let second = delivery.copy_at.map(|at| (carrier.copy(id), at));
    carrier.arrives(id, delivery.at);
    if let Some((copy, at)) = second {
        carrier.arrives(copy, at);
    }
}

/// Drops what the queue has dropped after it had taken it.
#[inline]
fn drop_queued<C: Carrier + ?Sized>(carrier: &mut C) {
    while let Some(id) = carrier.link().next_dropped() {
        carrier.lost(id);
    }
}
