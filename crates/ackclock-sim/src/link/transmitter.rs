//! When a link finishes its transmissions.

use ackclock_units::{Instant, Rate};

/// When a link finishes its transmissions, where that is not a matter of one constant rate.
///
/// A link transmits one packet at a time, so the calls are in order of time: each `start` is no earlier than
/// the result of the call before it.
pub trait Transmitter: Send {
    /// When a transmission of `bytes` that starts at `start` is finished. `idle` is true when nothing waited
    /// until `start`, so that what could have been sent before is lost.
    fn finish(&mut self, bytes: u32, start: Instant, idle: bool) -> Instant;

    /// True when it sends at moments of its own, so that packets wait in their queue until then.
    fn has_moments(&self) -> bool {
        false
    }

    /// When a packet that waits at `start` leaves its queue: at `start`, or at the next of those moments. `idle`
    /// as in [`Transmitter::finish`]; a transmission that starts then is not idle.
    fn begins(&mut self, start: Instant, _idle: bool) -> Instant {
        start
    }

    /// The largest packet that it ever transmits, bytes. Larger ones are dropped on arrival.
    fn largest(&self) -> u32 {
        u32::MAX
    }
}

/// The end of a transmission that never ends, 146 years after the beginning of a run.
pub(super) const NEVER: Instant = Instant::from_nanos(1 << 62);

/// A constant rate, for elements that pass packets on to a link.
pub struct ConstantRate(pub Rate);

impl Transmitter for ConstantRate {
    fn finish(&mut self, bytes: u32, start: Instant, _: bool) -> Instant {
        (start + self.0.time_to_send(bytes.into())).min(NEVER)
    }
}
