//! Marks of SACKed segments.

use ackclock_units::SeqRange;

use super::OutstandingSegments;
use super::sent::{AGAIN_BITS, FIN, SACKED};

impl OutstandingSegments {
    /// Marks what a SACK block reports. Returns the bytes newly SACKed. Only whole segments are marked: SACK
    /// is advisory (RFC 2018 §8), and a peer gains nothing by reporting parts of segments.
    pub fn sack(&mut self, block: SeqRange) -> u32 {
        // Most blocks repeat what earlier acks have reported (RFC 2018 §4).
        if self.sacked.cover(block) {
            return 0;
        }
        let Some(block) = self.whole_segments(block) else { return 0 };
        if self.sacked.cover(block) {
            return 0;
        }
        // Marks what lies between the ranges that are SACKed already.
        let before = self.sacked_bytes;
        let (mut cursor, touching) = (block.start, self.sacked.touching(block));
        for i in touching.clone() {
            let known = self.sacked[i];
            self.mark_sacked(SeqRange::new(cursor, known.start));
            cursor = cursor.max(known.end);
        }
        self.mark_sacked(SeqRange::new(cursor, block.end));
        self.sacked.join(touching, block);
        self.sacked_bytes - before
    }

    /// The part of `block` that consists of whole outstanding segments.
    fn whole_segments(&self, block: SeqRange) -> Option<SeqRange> {
        let (front, back) = (self.sent.front()?, self.sent.back()?);
        let (start, end) = (block.start.max(front.seq), block.end.min(back.end()));
        if start >= end {
            return None;
        }
        let mut i = self.index_of(start);
        i += usize::from(self.sent.get(i)?.seq < start);
        // The last segment that ends at or before `end`.
        let j = self.index_of(end).checked_sub(1)?;
        (i <= j).then(|| SeqRange::new(self.sent[i].seq, self.sent[j].end()))
    }

    /// Marks the segments in `range` as SACKed, and removes their other marks.
    fn mark_sacked(&mut self, range: SeqRange) {
        if range.is_empty() {
            return;
        }
        let first = self.index_of(range.start);
        for i in first..self.sent.len() {
            let s = self.sent[i];
            if s.seq >= range.end {
                break;
            }
            if s.has(SACKED) {
                continue;
            }
            self.uncount(&s, s.len());
            self.sacked_bytes += s.len();
            self.sent[i].marks = (s.marks & (FIN | AGAIN_BITS)) | SACKED;
            self.delivered(i, &s, s.len(), true, false);
        }
    }

    /// True when the oldest segment is SACKed: the receiver has reneged, as it would otherwise have
    /// acknowledged it (RFC 6675 §5.1).
    pub fn reneged(&self) -> bool {
        self.sent.front().is_some_and(|s| s.has(SACKED))
    }

    /// Removes every SACK mark, since the receiver has reneged (RFC 2018 §8).
    pub fn forget_sacks(&mut self) {
        for s in &mut self.sent {
            if s.has(SACKED) {
                s.marks &= !SACKED;
                self.sacked_bytes -= s.len();
            }
        }
        self.sacked.clear();
    }
}
