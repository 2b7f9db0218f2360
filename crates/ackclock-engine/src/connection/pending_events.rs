//! Events that the application has not polled yet.

use ackclock_units::mostly;

use crate::{AbortReason, ConnectionEvent};

/// One bit for each kind of event, in the order in which they are returned. Polled after every segment, and
/// usually empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PendingEvents {
    bits: u8,
    /// The reason that goes with [`PendingEvents::ABORTED`].
    pub(super) reason: Option<AbortReason>,
}

impl PendingEvents {
    pub(super) const ESTABLISHED: u8 = 1;
    pub(super) const READABLE: u8 = 1 << 1;
    pub(super) const WRITABLE: u8 = 1 << 2;
    pub(super) const FLUSHED: u8 = 1 << 3;
    pub(super) const FINISHED: u8 = 1 << 4;
    pub(super) const URGENT: u8 = 1 << 5;
    pub(super) const ABORTED: u8 = 1 << 6;

    #[inline]
    pub(super) fn add(&mut self, event: u8) {
        self.bits |= event;
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.bits == 0
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<ConnectionEvent> {
        if self.is_empty() {
            return None;
        }
        let first = self.bits & self.bits.wrapping_neg();
        self.bits &= !first;
        if mostly(first == Self::READABLE) {
            return Some(ConnectionEvent::Readable);
        }
        match first {
            Self::ESTABLISHED => Some(ConnectionEvent::Established),
            Self::WRITABLE => Some(ConnectionEvent::Writable),
            Self::FLUSHED => Some(ConnectionEvent::Flushed),
            Self::URGENT => Some(ConnectionEvent::Urgent),
            Self::FINISHED => Some(ConnectionEvent::Finished),
            _ => self.reason.take().map(ConnectionEvent::Aborted),
        }
    }
}
