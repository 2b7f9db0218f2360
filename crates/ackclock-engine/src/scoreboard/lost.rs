//! Marks of lost segments: set by the loss recovery, and restored when a timeout is undone.

use std::sync::atomic::Ordering;

use ackclock_policy::ScoreboardView as _;
use ackclock_units::{SeqNumber, SeqRange, seldom};

use super::OutstandingSegments;
use super::sent::{AGAIN_BITS, FIN, KEPT, LOST, RETRANSMITTED, SACKED, Sent, WAS_LOST, WAS_RETRANSMITTED};

impl OutstandingSegments {
    #[inline]
    pub(super) fn lost_hint(&self) -> SeqNumber {
        SeqNumber(self.lost_hint.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn set_lost_hint(&self, seq: SeqNumber) {
        self.lost_hint.store(seq.0, Ordering::Relaxed);
    }

    /// True while a segment is marked lost and not yet retransmitted.
    pub fn has_lost(&self) -> bool {
        seldom(self.lost_bytes > 0) && self.next_lost(self.lost_hint()).is_some()
    }

    /// True while there are fewer retransmissions in the network than segments marked lost, whichever they
    /// are of.
    #[cold]
    pub fn lacks_retransmissions(&self) -> bool {
        let marked = |mark| self.sent.iter().filter(|s| s.has(mark)).count();
        marked(RETRANSMITTED) < marked(LOST)
    }

    /// Bytes marked lost, retransmitted or not.
    pub fn lost_bytes(&self) -> u32 {
        self.lost_bytes
    }

    /// True where the segment at `seq` is marked lost, retransmitted or not.
    pub fn counts_lost(&self, seq: SeqNumber) -> bool {
        self.sent.get(self.index_of(seq)).is_some_and(|s| s.marks & (LOST | SACKED) == LOST)
    }

    /// Bytes marked lost and not yet retransmitted.
    pub fn awaiting_retransmission(&self) -> u32 {
        self.lost_bytes.saturating_sub(self.retransmitted_bytes)
    }

    /// Marks the segments in `range` that are not SACKed as lost; an outstanding retransmission of them is
    /// lost too. Returns the bytes newly marked.
    pub fn mark_lost(&mut self, range: SeqRange) -> u32 {
        self.mark(range, false)
    }

    /// The same, but for a retransmission of a segment that is not marked: of that an undo has taken the mark, and
    /// the original is lost instead.
    #[cold]
    pub fn mark_originals_lost(&mut self, range: SeqRange) -> u32 {
        self.mark(range, true)
    }

    #[inline]
    fn mark(&mut self, range: SeqRange, originals: bool) -> u32 {
        let mut lost = 0;
        if range.is_empty() {
            return lost;
        }
        let first = self.index_of(range.start);
        let mut rates = self.measured.as_deref_mut().and_then(|m| m.rates.as_mut());
        for (i, s) in (first..).zip(self.sent.range_mut(first..)) {
            if s.seq >= range.end {
                break;
            }
            if s.has(SACKED) {
                continue;
            }
            if !s.has(LOST) {
                self.lost_bytes += s.len();
            }
            let stays = originals && s.marks & (LOST | RETRANSMITTED) == RETRANSMITTED;
            if s.has(RETRANSMITTED) && !stays {
                self.retransmitted_bytes -= s.len();
            }
            if s.marks & (LOST | RETRANSMITTED) != LOST {
                lost += s.len();
                if let Some(rates) = rates.as_deref_mut() {
                    rates.lose(i, s.range());
                }
            }
            let kept = if stays { KEPT | RETRANSMITTED } else { KEPT };
            s.marks = (s.marks & kept) | LOST;
        }
        if range.start < self.lost_hint() {
            self.set_lost_hint(range.start);
        }
        lost
    }

    /// Removes the marks of lost segments; what was retransmitted stays in the network.
    pub fn forget_lost(&mut self) {
        for s in &mut self.sent {
            s.marks &= !LOST;
        }
        self.lost_bytes = 0;
        if let Some(first) = self.sent.front() {
            self.set_lost_hint(first.seq);
        }
    }

    /// How many segments that end at or before `end` were sent once and are not SACKed.
    pub fn sent_once_until(&self, end: SeqNumber) -> usize {
        let upto = self.sent.iter().take_while(|s| s.range().end <= end);
        upto.filter(|s| !s.has(SACKED) && s.view(self.epoch).transmissions == 1).count()
    }

    /// How many outstanding segments inside `range` were sent more than once. `shared`: of SACKed neighbours of the same
    /// size all count as one of them does.
    #[cold]
    pub fn sent_again_inside(&self, range: SeqRange, shared: bool) -> u32 {
        let from = self.index_of(range.start);
        let inside = self.sent.range(from..).take_while(|s| s.end() <= range.end);
        let counts = |i: usize| {
            self.sent[i].transmissions() > 1 || shared && self.neighbours(i).any(|s| s.transmissions() > 1)
        };
        inside.enumerate().map(|(i, s)| u32::from(s.seq >= range.start && counts(from + i))).sum()
    }

    /// The segments that are SACKed without a gap around the SACKed segment `i`, and as long.
    fn neighbours(&self, i: usize) -> impl Iterator<Item = &Sent> {
        let like = &self.sent[i];
        let alike = move |s: &&Sent| like.has(SACKED) && s.has(SACKED) && s.len() == like.len();
        let before = self.sent.range(..i).rev().take_while(alike);
        before.chain(self.sent.range(i + 1..).take_while(alike))
    }

    /// Saves which segments are marked lost and retransmitted now, for
    /// [`OutstandingSegments::restore_marks`]; without `lost`, as if none were lost.
    pub fn save_marks(&mut self, lost: bool) {
        let saved = if lost { LOST | RETRANSMITTED } else { RETRANSMITTED };
        for s in &mut self.sent {
            s.marks &= !(WAS_LOST | WAS_RETRANSMITTED);
            s.marks |= (s.marks & saved) << 3;
        }
        if let Some(rates) = self.rates() {
            rates.save_lost();
        }
    }

    /// Restores the marks saved by [`OutstandingSegments::save_marks`]. SACKs stay. `keeps`: and what has been
    /// retransmitted since counts as in the network.
    pub fn restore_marks(&mut self, keeps: bool) {
        (self.lost_bytes, self.retransmitted_bytes) = (0, 0);
        if let Some(rates) = self.rates() {
            rates.restore_lost();
        }
        for s in &mut self.sent {
            let since = if keeps { s.marks & RETRANSMITTED } else { 0 };
            s.marks =
                (s.marks & (SACKED | FIN | AGAIN_BITS)) | ((s.marks >> 3) & (LOST | RETRANSMITTED)) | since;
            if s.has(LOST) {
                self.lost_bytes += s.len();
            }
            if s.has(RETRANSMITTED) {
                self.retransmitted_bytes += s.len();
            }
        }
        if let Some(first) = self.sent.front() {
            self.set_lost_hint(first.seq);
        }
    }
}
