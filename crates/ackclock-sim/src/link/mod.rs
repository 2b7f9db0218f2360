//! A one-way link: a queue, a wire of some rate, a propagation delay, and faults on the wire.
//!
//! A link has no clock and schedules nothing. Its caller offers packets in order of time. With a first-in
//! first-out queue, the offer returns when the packet will arrive, so that no event is needed for its
//! departure. With any other queue, the link returns when the packet in service will have left, and must be
//! polled then. [`Carrier`] handles both cases for the owner of the packets.

mod ahead;
mod carrier;
mod counters;
mod delivery;
mod fifo;
mod measure;
mod scheduled;
mod spec;
mod state;

use ackclock_policy::Queued;
use ackclock_units::{Duration, Rate};

pub use self::carrier::Carrier;
pub use self::counters::LinkCounters;
pub use self::delivery::{Delivery, Offer};
pub use self::spec::LinkSpec;
pub use self::state::Link;
use crate::fault::PacketInfo;

impl Link {
    /// Offers a packet at `packet.at`, which must not be earlier than in any previous call.
    #[inline]
    pub fn offer(&mut self, packet: Queued, about: &PacketInfo) -> Offer {
        if !self.fifo {
            return self.offer_scheduled(packet);
        }
        self.counters.offered += 1;
        self.counters.offered_bytes += u64::from(packet.bytes);
        if self.rate.is_none() {
            return Offer::Sent(self.leave(packet, about, packet.at, false));
        }
        self.offer_fifo(packet, about)
    }

    /// Its rate; `None` for a pure delay.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Its propagation delay.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// True for a pure delay or a first-in first-out queue: every departure is known when the packet is
    /// offered, so that the link never needs to be polled.
    pub fn is_fifo(&self) -> bool {
        self.fifo
    }
}
