//! What few links have: a largest packet, a policer, a transmitter of their own, a delay and a loss that
//! vary.

use ackclock_policy::{Declaration, Queued};
use ackclock_units::{Duration, Ecn, Instant, Rng};

use super::delivery::{Delivery, Offer};
use super::jitter::{JITTER, Jitter};
use super::losses::LossCause;
use super::medium::{HALF_DUPLEX, MediumEnd};
use super::opportunities::MAHIMAHI;
use super::schedule::SCHEDULE;
use super::state::Link;
use super::token_bucket::{POLICER, Policed, Policer, SHAPER};
use super::track::Track;
use super::transmitter::Transmitter;
use crate::fault::PacketInfo;

/// Loss probabilities of a [`Track`] are in this unit.
pub(crate) const LOSS_UNIT: u64 = 1_000_000_000;

/// Elements of a link beyond rate, delay, queue and faults.
#[derive(Default)]
pub struct Elements {
    /// The largest packet that it carries, bytes; larger ones are dropped on arrival.
    pub mtu: Option<u32>,
    /// Drops or marks packets as they arrive.
    pub policer: Option<Policer>,
    /// When transmissions finish, in place of the link's rate. The rate stays what others compute with.
    pub transmitter: Option<Box<dyn Transmitter>>,
    /// Propagation delay over time, nanoseconds, in place of the link's delay.
    pub delay: Option<Track>,
    /// Probability of loss over time, in units of 1e-9.
    pub loss: Option<Track>,
    /// A medium that it shares with the link back. Its queue then keeps its packets.
    pub medium: Option<MediumEnd>,
    /// A random extra delay.
    pub jitter: Option<Jitter>,
    /// Packets may overtake others where the delay falls. Otherwise a packet arrives no earlier than those
    /// before it, as on a serial link.
    pub reorders: bool,
}

impl Elements {
    /// True when there are none.
    pub fn is_none(&self) -> bool {
        let Self { mtu, policer, transmitter, delay, loss, medium, jitter, reorders: _ } = self;
        mtu.is_none()
            && policer.is_none()
            && transmitter.is_none()
            && delay.is_none()
            && loss.is_none()
            && jitter.is_none()
            && medium.is_none()
    }
}

/// The declarations of elements, for listings beside those of the policies.
pub fn declarations() -> Vec<Declaration> {
    vec![SHAPER, POLICER, SCHEDULE, MAHIMAHI, JITTER, HALF_DUPLEX]
}

/// The elements of a link with their state.
pub(super) struct ElementStates {
    pub(super) elements: Elements,
    pub(super) rng: Rng,
    /// Packets may overtake others.
    reorders: bool,
    /// The largest packet that passes, bytes.
    pub(super) largest: u32,
    /// The moment for which packets wait, on a link that sends at moments of its own.
    pub(super) awaits: Option<Instant>,
    /// When a packet came to the queue that was empty, last.
    pub(super) waiting_since: Instant,
}

impl ElementStates {
    pub(super) fn new(elements: Elements, rng: Rng) -> Option<Box<Self>> {
        let transmitted = elements.transmitter.as_ref().map_or(u32::MAX, |t| t.largest());
        let largest = elements.mtu.unwrap_or(u32::MAX).min(transmitted);
        let reorders = elements.reorders || elements.jitter.as_ref().is_some_and(|j| j.reorders);
        (!elements.is_none()).then(|| {
            Box::new(Self { elements, rng, reorders, largest, awaits: None, waiting_since: Instant::ZERO })
        })
    }
}

impl Link {
    /// As [`Link::offer`], for a link with elements.
    #[cold]
    pub(super) fn offer_to_elements(&mut self, mut packet: Queued, about: &PacketInfo) -> Offer {
        let Some(marks) = self.check_arrival(&mut packet) else {
            self.advance(packet.at);
            return self.refuse(packet.bytes);
        };
        let mut offer = self.offer_admitted(packet, about);
        if marks {
            let before = match &mut offer {
                Offer::Sent(delivery) => std::mem::replace(&mut delivery.marked, true),
                Offer::Waits { marked } => std::mem::replace(marked, true),
                Offer::Refused => true,
            };
            self.counters.marked += u64::from(!before);
        }
        offer
    }

    /// Checks the size of an arriving packet and lets the policer see it. Returns whether that marked it, or
    /// `None` when it must be refused.
    #[cold]
    pub(super) fn check_arrival(&mut self, packet: &mut Queued) -> Option<bool> {
        let Some(state) = &mut self.elements else { return Some(false) };
        if packet.bytes > state.largest {
            self.counters.oversized += 1;
            return None;
        }
        match state.elements.policer.as_mut().map_or(Policed::Pass, |p| p.police(packet)) {
            Policed::Pass => Some(false),
            Policed::Mark => {
                packet.ecn = Ecn::Ce;
                Some(true)
            }
            Policed::Drop => {
                self.counters.policed += 1;
                None
            }
        }
    }

    /// True when something other than its rate alone decides when transmissions finish.
    pub(crate) fn has_transmitter(&self) -> bool {
        self.elements.as_ref().is_some_and(|state| state.elements.transmitter.is_some())
    }

    /// When a transmission that starts at `start` is finished; `idle` as in [`Transmitter::finish`].
    #[inline]
    pub(super) fn finish(&mut self, bytes: u32, start: Instant, idle: bool) -> Instant {
        match self.elements.as_mut().and_then(|state| state.elements.transmitter.as_mut()) {
            Some(transmitter) => transmitter.finish(bytes, start, idle),
            None => start + self.time_to_send(bytes),
        }
    }

    /// True when it sends at moments of its own, for which packets wait in their queue.
    #[inline]
    pub(super) fn has_moments(&self) -> bool {
        let transmitter = self.elements.as_ref().and_then(|state| state.elements.transmitter.as_ref());
        transmitter.is_some_and(|t| t.has_moments())
    }

    /// When the packets that wait may go on: `now`, or the next of the moments at which the link sends.
    pub(super) fn begins(&mut self, now: Instant) -> Instant {
        let Some(state) = &mut self.elements else { return now };
        let Some(transmitter) = &mut state.elements.transmitter else { return now };
        // What was there while nothing waited, or while the queue held back what it had, is lost.
        let ready = self.free_at == now || state.awaits == Some(now);
        let at = transmitter.begins(now, !ready || state.waiting_since == now);
        if at > now && state.awaits != Some(at) {
            state.awaits = Some(at);
            // As on other links, it is busy while something waits.
            self.counters.busy += at.since(now);
        }
        at
    }

    /// Applies a delay and a loss that vary to a packet on the wire.
    pub(super) fn apply_elements(&mut self, out: &mut Delivery) {
        let Some(state) = &mut self.elements else { return };
        let departs = out.departs.as_nanos();
        if let Some(delay) = &state.elements.delay {
            out.at = out.departs + Duration::from_nanos(delay.value(departs));
        }
        if let Some(jitter) = &state.elements.jitter {
            out.at += jitter.draw(&mut state.rng);
        }
        if !state.reorders {
            out.at = out.at.max(self.last_in_order);
            self.last_in_order = out.at;
        }
        if let Some(loss) = &state.elements.loss {
            out.lost = state.rng.chance(loss.value(departs) as f64 / LOSS_UNIT as f64);
            if out.lost {
                self.losses.count(LossCause::Schedule, self.ahead.packets.len());
            }
        }
    }
}
