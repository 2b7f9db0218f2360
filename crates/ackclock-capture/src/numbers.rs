//! Whether the identifications of one end's packets tell anything.

use ackclock_units::SeqNumber;

use crate::segment::CapturedSegment;

/// Follows them. Packets that cannot be fragmented may have any (RFC 6864 §4.1): where different ones share
/// one, it is no number of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    last: Option<(u16, SeqNumber, SeqNumber, u32)>,
    /// How often different packets in a row had the same one, and another one.
    same: u32,
    other: u32,
}

impl Numbers {
    /// Takes a packet; true when its identification, if it has one, is its own as far as is known.
    #[inline]
    pub(crate) fn observe(&mut self, seen: &CapturedSegment) -> bool {
        if seen.id == 0 {
            return true;
        }
        let s = &seen.segment;
        let this = (seen.id, s.seq, s.ack, s.len);
        if let Some(last) = self.last.replace(this) {
            self.other += u32::from(last.0 != seen.id);
            // The same packet once more has the same number rightly.
            self.same += u32::from(last.0 == seen.id && last != this);
        }
        self.same <= self.other
    }
}
