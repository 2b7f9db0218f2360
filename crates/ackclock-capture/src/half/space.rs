//! Sequence space of one direction.

use ackclock_units::SeqNumber;
use ackclock_wire::Segment;

/// Sequence numbers carried on above 32 bits: coordinates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SequenceSpace {
    /// The first one; `None` before anything of the direction is known.
    pub base: Option<u64>,
    /// `snd_una` of RFC 9293.
    pub una: u64,
    /// Behind the highest one that was sent (`snd_max`), or acknowledged.
    pub max: u64,
    /// Where its SYN and FIN stand.
    pub syn: Option<u64>,
    pub fin: Option<u64>,
    /// Behind the highest one of any packet, those that the books leave out among them.
    pub highest_seen: u64,
}

impl SequenceSpace {
    /// Begins at `seq`; false where it has begun.
    pub(super) fn begin(&mut self, seq: SeqNumber) -> bool {
        if self.base.is_some() {
            return false;
        }
        // One turn of sequence space above zero, so that what lies before is a number too.
        let at = (1 << 32) + u64::from(seq.0);
        (self.base, self.una, self.max) = (Some(at), at, at);
        true
    }

    /// The coordinate of a sequence number: the nearest to what was sent last.
    pub(crate) fn coordinate(&self, seq: SeqNumber) -> u64 {
        // Low 32 bits of a coordinate are the number itself.
        self.max.wrapping_add_signed(i64::from(seq.diff(SeqNumber(self.max as u32))))
    }

    /// True when all of a segment was acknowledged before. Its receiver drops it, and does not look at what
    /// it acknowledges (RFC 9293 §3.10.7.4).
    #[inline]
    pub(crate) fn lies_below(&self, s: &Segment) -> bool {
        self.base.is_some() && SeqNumber(self.una as u32).diff(s.end()) > 0
    }

    /// True when an acknowledgment of so much is one of what was sent and not acknowledged (RFC 9293
    /// §3.10.7.3).
    pub(crate) fn may_be_acked(&self, ack: SeqNumber) -> bool {
        let ack = self.coordinate(ack);
        self.una < ack && ack <= self.max
    }

    /// Position in the stream, for reading.
    pub(crate) fn offset(&self, at: u64) -> u64 {
        let first = self.base.unwrap_or(at) + u64::from(self.syn.is_some());
        at.saturating_sub(first)
    }

    /// Bytes sent and not acknowledged.
    pub(crate) fn flight(&self) -> u64 {
        self.max.saturating_sub(self.una)
    }
}
