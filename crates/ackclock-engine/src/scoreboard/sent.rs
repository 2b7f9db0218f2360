//! One segment of the scoreboard, and its marks.

use ackclock_policy::SentSegment;
use ackclock_units::{Duration, Instant, SeqNumber, SeqRange};

pub(super) const SACKED: u8 = 1;
pub(super) const LOST: u8 = 2;
/// Retransmitted since it was last marked lost, or without having been marked: one more copy is in the
/// network.
pub(super) const RETRANSMITTED: u8 = 4;
pub(super) const FIN: u8 = 8;
/// LOST and RETRANSMITTED as they were when the timer expired.
pub(super) const WAS_LOST: u8 = 16;
pub(super) const WAS_RETRANSMITTED: u8 = 32;
/// Counter of retransmissions in the two upper bits, up to three.
pub(super) const AGAIN: u8 = 64;
pub(super) const AGAIN_BITS: u8 = 128 | 64;
/// Marks that stay when the segment is marked lost.
pub(super) const KEPT: u8 = FIN | WAS_LOST | WAS_RETRANSMITTED | AGAIN_BITS;

/// A segment, in twelve bytes since there is one for every packet in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) seq: SeqNumber,
    /// When it was last sent, in nanoseconds since the scoreboard's epoch: the lower 32 of 40 bits. The upper
    /// 8 are in `since_epoch_high`.
    pub(super) since_epoch: u32,
    /// Sequence space it occupies, a FIN included. No segment is longer than [`MAX_LEN`].
    pub(super) short_len: u16,
    pub(super) since_epoch_high: u8,
    pub(super) marks: u8,
}

/// Most sequence space of one segment: the largest payload of an IPv4 packet, and a FIN.
pub(crate) const MAX_LEN: u32 = 65_496;

impl Sent {
    pub(super) fn len(&self) -> u32 {
        u32::from(self.short_len)
    }

    pub(super) fn end(&self) -> SeqNumber {
        self.seq + self.len()
    }

    pub(super) fn has(&self, marks: u8) -> bool {
        self.marks & marks != 0
    }

    pub(super) fn range(&self) -> SeqRange {
        SeqRange::new(self.seq, self.end())
    }

    /// True when both were last sent at the same moment.
    pub(super) fn left_with(&self, other: &Self) -> bool {
        (self.since_epoch, self.since_epoch_high) == (other.since_epoch, other.since_epoch_high)
    }

    pub(super) fn set_since_epoch(&mut self, since: Duration) {
        let ns = since.as_nanos();
        (self.since_epoch, self.since_epoch_high) = (ns as u32, (ns >> 32) as u8);
    }

    pub(super) fn sent_at(&self, epoch: Instant) -> Instant {
        epoch + Duration::from_nanos(u64::from(self.since_epoch_high) << 32 | u64::from(self.since_epoch))
    }

    /// Transmissions so far; at most four are counted.
    pub(super) fn transmissions(&self) -> u32 {
        1 + u32::from(self.marks / AGAIN)
    }

    /// Counts a retransmission.
    pub(super) fn count_retransmission(&mut self) {
        if self.marks & AGAIN_BITS != AGAIN_BITS {
            self.marks += AGAIN;
        }
    }

    pub(super) fn view(&self, epoch: Instant) -> SentSegment {
        SentSegment {
            range: self.range(),
            xmit_ts: self.sent_at(epoch),
            transmissions: self.transmissions(),
            sacked: self.has(SACKED),
            lost: self.has(LOST) && !self.has(RETRANSMITTED),
        }
    }
}
