//! The third step of F-RTO (RFC 5682 §2.1, step 3b), for expiries without timestamps: the ack after the one of the
//! copy acknowledges what was not sent again, so that the originals come late, that of the copy among them.

use ackclock_units::Instant;

use super::Half;
use crate::thresholds::THRESHOLDS;

/// An expiry whose copy alone an ack has covered, although more was outstanding when the timer fired.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnlyCopy {
    pub expiry: u32,
    /// Where the copy ends, and how far data had been sent when the timer fired.
    pub end: u64,
    pub max: u64,
    pub fired: Instant,
}

impl Half {
    /// Called before what `ack` acknowledges is removed. Had only the oldest segment been lost, the ack of its copy
    /// had covered all that had arrived behind it, or SACK had.
    pub(super) fn third_step(&mut self, ack: u64, at: Instant) {
        let Some(only) = self.verdicts.only_copy.take() else { return };
        let far = self.path.far.unwrap_or_default();
        // The segment after the copy decides: if its own copy may have arrived, that one filled the last gap, and what
        // is acknowledged with it may have arrived long before.
        let first = self.sent.outstanding.overlapping(only.end, ack.min(only.max)).next();
        let late = first.is_some_and(|p| {
            // Its last copy is too young for this ack, if it was sent again at all.
            let original = p.copies == 1 || at.since(p.last) < far.mul_f64(THRESHOLDS.view.own_ack_part);
            p.start >= only.end && p.first <= only.fired && p.seen && !p.sacked && original
        });
        if let Some(e) = self.verdicts.expiries.get_mut(only.expiry as usize).filter(|_| late) {
            e.verdict.eifel_spurious = Some(true);
            e.verdict.doubt =
                Some("what had been sent after it came late too, but its own original may be lost");
        }
    }
}
