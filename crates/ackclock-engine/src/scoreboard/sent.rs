//! One segment of the scoreboard, and its marks.

use ackclock_policy::SentSegment;
use ackclock_units::{Duration, Instant, SeqNumber, SeqRange};

pub(super) const SACKED: u8 = 1;
pub(super) const LOST: u8 = 2;
/// Retransmitted since it was last marked lost (or without having been marked): one more copy is in the
/// network.
pub(super) const RETRANSMITTED: u8 = 4;
pub(super) const FIN: u8 = 8;
/// What LOST and RETRANSMITTED were when the timer expired.
pub(super) const WAS_LOST: u8 = 16;
pub(super) const WAS_RETRANSMITTED: u8 = 32;
/// Beside the marks, how often it was sent again: up to three times.
pub(super) const AGAIN: u8 = 64;
pub(super) const AGAIN_BITS: u8 = 128 | 64;
/// Marks that outlive a new one.
pub(super) const KEPT: u8 = FIN | WAS_LOST | WAS_RETRANSMITTED | AGAIN_BITS;

/// A segment in twelve bytes, since there are as many of them as packets in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) seq: SeqNumber,
    /// When it was sent last, from the scoreboard's epoch on: the lower 32 of 40 bits, the upper 8 below.
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

    pub(super) fn set_since_epoch(&mut self, since: Duration) {
        let ns = since.as_nanos();
        (self.since_epoch, self.since_epoch_high) = (ns as u32, (ns >> 32) as u8);
    }

    pub(super) fn sent_at(&self, epoch: Instant) -> Instant {
        epoch + Duration::from_nanos(u64::from(self.since_epoch_high) << 32 | u64::from(self.since_epoch))
    }

    /// Transmissions so far, as far as they are counted.
    pub(super) fn transmissions(&self) -> u32 {
        1 + u32::from(self.marks / AGAIN)
    }

    pub(super) fn sent_again(&mut self) {
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
