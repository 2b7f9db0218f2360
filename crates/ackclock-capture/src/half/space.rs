//! Sequence space of one direction.

use ackclock_units::SeqNumber;
use ackclock_wire::Segment;

/// Sequence numbers extended to 64 bits: coordinates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SequenceSpace {
    /// The first one; `None` before anything of the direction is known.
    pub base: Option<u64>,
    /// `snd_una` of RFC 9293.
    pub una: u64,
    /// One past the highest that was sent (`snd_max`) or acknowledged.
    pub max: u64,
    /// The coordinates of its SYN and FIN.
    pub syn: Option<u64>,
    pub fin: Option<u64>,
    /// One past the highest of any packet, those that are not analysed included.
    pub highest_seen: u64,
}

impl SequenceSpace {
    /// Begins at `seq`; false if it has already begun.
    pub(super) fn begin(&mut self, seq: SeqNumber) -> bool {
        if self.base.is_some() {
            return false;
        }
        // One turn of sequence space above zero, so that earlier numbers have coordinates too.
        let at = (1 << 32) + u64::from(seq.0);
        (self.base, self.una, self.max) = (Some(at), at, at);
        true
    }

    /// The coordinate of a sequence number: the nearest to what was sent last.
    pub(crate) fn coordinate(&self, seq: SeqNumber) -> u64 {
        // The low 32 bits of a coordinate are the sequence number.
        self.max.wrapping_add_signed(i64::from(seq.diff(SeqNumber(self.max as u32))))
    }

    /// True if all of a segment was acknowledged before. Its receiver drops it without processing its
    /// acknowledgment (RFC 9293 §3.10.7.4).
    #[inline]
    pub(crate) fn lies_below(&self, s: &Segment) -> bool {
        self.base.is_some() && SeqNumber(self.una as u32).diff(s.end()) > 0
    }

    /// True if `ack` acknowledges something that was sent and not yet acknowledged (RFC 9293 §3.10.7.3).
    pub(crate) fn may_be_acked(&self, ack: SeqNumber) -> bool {
        let ack = self.coordinate(ack);
        self.una < ack && ack <= self.max
    }

    /// Offset in the stream, for display.
    pub(crate) fn offset(&self, at: u64) -> u64 {
        let first = self.base.unwrap_or(at) + u64::from(self.syn.is_some());
        at.saturating_sub(first)
    }

    /// Bytes sent and not acknowledged.
    pub(crate) fn flight(&self) -> u64 {
        self.max.saturating_sub(self.una)
    }
}
