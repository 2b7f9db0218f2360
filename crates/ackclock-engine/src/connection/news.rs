//! What the application has not been told yet.

use ackclock_units::mostly;

use crate::{AbortReason, ConnectionEvent};

/// What the application has not been told yet, a bit each in the order of telling: it is asked for after
/// every segment, and mostly there is nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    what: u8,
    /// Why, with [`News::ABORTED`].
    pub(super) reason: Option<AbortReason>,
}

impl News {
    pub(super) const ESTABLISHED: u8 = 1;
    pub(super) const READABLE: u8 = 1 << 1;
    pub(super) const WRITABLE: u8 = 1 << 2;
    pub(super) const FLUSHED: u8 = 1 << 3;
    pub(super) const FINISHED: u8 = 1 << 4;
    pub(super) const ABORTED: u8 = 1 << 5;

    #[inline]
    pub(super) fn add(&mut self, what: u8) {
        self.what |= what;
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.what == 0
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<ConnectionEvent> {
        if self.is_empty() {
            return None;
        }
        let first = self.what & self.what.wrapping_neg();
        self.what &= !first;
        if mostly(first == Self::READABLE) {
            return Some(ConnectionEvent::Readable);
        }
        match first {
            Self::ESTABLISHED => Some(ConnectionEvent::Established),
            Self::WRITABLE => Some(ConnectionEvent::Writable),
            Self::FLUSHED => Some(ConnectionEvent::Flushed),
            Self::FINISHED => Some(ConnectionEvent::Finished),
            _ => self.reason.take().map(ConnectionEvent::Aborted),
        }
    }
}
