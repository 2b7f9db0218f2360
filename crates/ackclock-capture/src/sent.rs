//! What a sender has outstanding, piece by piece.

use std::collections::VecDeque;

use ackclock_units::Instant;

/// A stretch of sequence space that was sent and not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub start: u64,
    pub end: u64,
    /// First and latest copy.
    pub first: Instant,
    pub last: Instant,
    /// Copies sent.
    pub copies: u32,
    /// Timestamp and identification of the latest copy.
    pub tsval: Option<u32>,
    pub id: u16,
    /// The latest retransmission of it, by its place in the list.
    pub again: Option<u32>,
    /// The first copy is in the capture.
    pub seen: bool,
    pub sacked: bool,
}

/// All of them, in order and disjoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outstanding(VecDeque<Piece>);

/// More pieces in flight than any honest window has (32 MB of 512-byte segments): beyond, the oldest are forgotten.
pub(crate) const MOST_PIECES: usize = 1 << 16;

impl Outstanding {
    pub(crate) fn front(&self) -> Option<&Piece> {
        self.0.front()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Drops the oldest; true when there was one.
    pub(crate) fn forget(&mut self) -> bool {
        self.0.pop_front().is_some()
    }

    /// Adds a piece where it belongs; it must overlap none. False when an old one had to go.
    pub(crate) fn insert(&mut self, piece: Piece) -> bool {
        // Nearly always it is the newest.
        if self.0.back().is_none_or(|p| p.start < piece.start) {
            self.0.push_back(piece);
        } else {
            let at = self.0.partition_point(|p| p.start < piece.start);
            self.0.insert(at, piece);
        }
        if self.0.len() > MOST_PIECES {
            self.0.pop_front();
            return false;
        }
        true
    }

    /// Takes out what lies below `to`, which may cut a piece in two.
    pub(crate) fn acknowledge(&mut self, to: u64, mut gone: impl FnMut(&Piece)) {
        while let Some(p) = self.0.front_mut() {
            if p.end > to {
                if p.start < to {
                    gone(&Piece { end: to, ..*p });
                    p.start = to;
                }
                break;
            }
            gone(p);
            self.0.pop_front();
        }
    }

    /// The pieces that overlap `start..end`.
    pub(crate) fn overlapping(&mut self, start: u64, end: u64) -> impl Iterator<Item = &mut Piece> {
        let first = self.0.partition_point(|p| p.end <= start);
        self.0.range_mut(first..).take_while(move |p| p.start < end)
    }

    /// Cuts pieces at `at`, so that none reaches across it.
    pub(crate) fn split(&mut self, at: u64) {
        let i = self.0.partition_point(|p| p.end <= at);
        if let Some(p) = self.0.get_mut(i).filter(|p| p.start < at) {
            let rest = Piece { start: at, ..*p };
            p.end = at;
            self.0.insert(i + 1, rest);
        }
    }
}
