//! Whether the identifications of one end's packets identify them.

use ackclock_units::SeqNumber;

use crate::segment::CapturedSegment;

/// Observes identifications. Packets that cannot be fragmented may have any (RFC 6864 §4.1): if different
/// packets share one, it does not identify them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    last: Option<(u16, SeqNumber, SeqNumber, u32)>,
    /// How often consecutive packets that differ had the same one, and different ones.
    same: u32,
    other: u32,
}

impl Numbers {
    /// Takes a packet; true if its identification, if it has one, can be taken as its own.
    #[inline]
    pub(crate) fn observe(&mut self, seen: &CapturedSegment) -> bool {
        if seen.id == 0 {
            return true;
        }
        let s = &seen.segment;
        let this = (seen.id, s.seq, s.ack, s.len);
        if let Some(last) = self.last.replace(this) {
            self.other += u32::from(last.0 != seen.id);
            // A copy of the same packet has the same number anyway.
            self.same += u32::from(last.0 == seen.id && last != this);
        }
        self.same <= self.other
    }
}
