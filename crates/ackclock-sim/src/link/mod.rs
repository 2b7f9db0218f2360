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
mod elements;
mod fifo;
mod jitter;
mod losses;
mod measure;
mod medium;
mod opportunities;
mod row;
mod schedule;
mod scheduled;
mod sojourn;
mod spec;
mod state;
mod token_bucket;
mod track;
mod transmitter;
mod varying_rate;

use ackclock_policy::Queued;
use ackclock_units::{Duration, Rate, seldom};

pub use self::carrier::Carrier;
pub use self::counters::LinkCounters;
pub use self::delivery::{Delivery, Offer};
pub use self::elements::{Elements, declarations as element_declarations};
pub(crate) use self::jitter::JITTER;
pub use self::jitter::Jitter;
pub(crate) use self::medium::HALF_DUPLEX;
pub use self::medium::MediumEnd;
pub(crate) use self::opportunities::MAHIMAHI;
pub use self::opportunities::Opportunities;
pub use self::row::{LinkLabels, Passed, rate_over, row_since};
pub(crate) use self::schedule::{LONGEST as LONGEST_SCHEDULE, SCHEDULE};
pub use self::schedule::{Schedule, SchedulePoint};
pub use self::sojourn::{DelayHistogram, RecentSojourns};
pub use self::spec::LinkSpec;
pub use self::state::Link;
pub(crate) use self::token_bucket::{POLICER, SHAPER};
pub use self::token_bucket::{Policer, Shaper, TokenBucket};
pub use self::track::Track;
pub use self::transmitter::{ConstantRate, Transmitter};
pub use self::varying_rate::VaryingRate;
use crate::fault::PacketInfo;

impl Link {
    /// Offers a packet at `packet.at`, which must not be earlier than in any previous call.
    #[inline]
    pub fn offer(&mut self, packet: Queued, about: &PacketInfo) -> Offer {
        if !self.fifo {
            return match self.offer_scheduled(packet) {
                Some(marked) => Offer::Waits { marked },
                None => Offer::Refused,
            };
        }
        self.counters.offered += 1;
        self.counters.offered_bytes += u64::from(packet.bytes);
        if seldom(self.elements.is_some()) {
            return self.offer_to_elements(packet, about);
        }
        self.offer_admitted(packet, about)
    }

    /// Offers a packet that has been counted to the queue, or to the wire of a pure delay.
    #[inline]
    fn offer_admitted(&mut self, packet: Queued, about: &PacketInfo) -> Offer {
        if self.rate.is_none() {
            return Offer::Sent(self.leave(packet, about, packet.at, false));
        }
        self.offer_fifo(packet, about)
    }

    /// Its rate; `None` for a pure delay. For a link with a transmitter of its own this is the nominal rate.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Its propagation delay, where it does not vary.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// True for a pure delay or a first-in first-out queue: every departure is known when the packet is
    /// offered, so that the link never needs to be polled.
    pub fn is_fifo(&self) -> bool {
        self.fifo
    }
}
