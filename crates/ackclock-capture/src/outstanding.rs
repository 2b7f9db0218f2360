//! What a sender has outstanding, in pieces.

use std::collections::VecDeque;

use ackclock_units::Instant;

/// A range of sequence space that was sent and not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub start: u64,
    pub end: u64,
    /// When the first and the latest copy were sent.
    pub first: Instant,
    pub last: Instant,
    /// Copies sent.
    pub copies: u32,
    /// Timestamp and identification of the latest copy.
    pub tsval: Option<u32>,
    pub id: u16,
    /// The latest retransmission of it, by its place in the list.
    pub retransmission: Option<u32>,
    /// The first copy is in the capture.
    pub seen: bool,
    pub sacked: bool,
}

/// All outstanding pieces, in order and disjoint; and the latest acknowledged ones, since copies of them may
/// still arrive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outstanding {
    /// The remembered pieces, then the outstanding ones: an acknowledgment only moves the boundary.
    pieces: VecDeque<Piece>,
    remembered: usize,
}

/// Acknowledged pieces remembered.
const REMEMBERED: usize = 64;
/// More outstanding pieces than any realistic window has (32 MB of 512-byte segments); beyond them, the
/// oldest are dropped.
pub(crate) const MOST_PIECES: usize = 1 << 16;

impl Outstanding {
    pub(crate) fn front(&self) -> Option<&Piece> {
        self.pieces.get(self.remembered)
    }

    pub(crate) fn len(&self) -> usize {
        self.pieces.len() - self.remembered
    }

    /// The latest acknowledged piece with exactly this range.
    pub(crate) fn remembered(&self, start: u64, end: u64) -> Option<&Piece> {
        self.pieces.range(..self.remembered).rev().find(|p| p.start == start && p.end == end)
    }

    /// Drops the oldest outstanding piece and the remembered ones; true if there was one.
    pub(crate) fn forget(&mut self) -> bool {
        self.pieces.drain(..self.remembered);
        self.remembered = 0;
        self.pieces.pop_front().is_some()
    }

    /// Adds a piece in its place; it must not overlap others. False if an old one had to be dropped.
    pub(crate) fn insert(&mut self, piece: Piece) -> bool {
        // Nearly always it is the newest.
        if self.len() == 0 || self.pieces.back().is_some_and(|p| p.start < piece.start) {
            self.pieces.push_back(piece);
        } else {
            let at = self.first(|p| p.start >= piece.start);
            self.pieces.insert(at, piece);
        }
        self.len() <= MOST_PIECES || !self.forget()
    }

    /// Removes everything below `to`, which may split a piece.
    pub(crate) fn acknowledge(&mut self, to: u64, mut gone: impl FnMut(&Piece)) {
        while let Some(p) = self.pieces.get_mut(self.remembered) {
            if p.end > to {
                if p.start >= to {
                    break;
                }
                let below = Piece { end: to, ..*p };
                p.start = to;
                self.pieces.insert(self.remembered, below);
            }
            gone(&self.pieces[self.remembered]);
            self.remembered += 1;
            if self.remembered > REMEMBERED {
                self.pieces.pop_front();
                self.remembered -= 1;
            }
        }
        // A window that was large once does not stay so; most connections of a long capture are over.
        if self.pieces.capacity() > 4 * self.pieces.len().max(REMEMBERED) {
            self.pieces.shrink_to(2 * self.pieces.len());
        }
    }

    /// The pieces that overlap `start..end`.
    pub(crate) fn overlapping(&mut self, start: u64, end: u64) -> impl Iterator<Item = &mut Piece> {
        let first = self.first(|p| p.end > start);
        self.pieces.range_mut(first..).take_while(move |p| p.start < end)
    }

    /// Splits the piece that contains `at`.
    pub(crate) fn split(&mut self, at: u64) {
        let i = self.first(|p| p.end > at);
        if let Some(p) = self.pieces.get_mut(i).filter(|p| p.start < at) {
            let rest = Piece { start: at, ..*p };
            p.end = at;
            self.pieces.insert(i + 1, rest);
        }
    }

    /// The place of the first outstanding piece for which `holds` is true, as it is for all after it.
    fn first(&self, holds: impl Fn(&Piece) -> bool) -> usize {
        let (mut from, mut to) = (self.remembered, self.pieces.len());
        while from < to {
            let middle = from.midpoint(to);
            if holds(&self.pieces[middle]) { to = middle } else { from = middle + 1 }
        }
        from
    }
}
