use std::ops::{Deref, Range};

use crate::{SeqNumber, SeqRange};

/// Ranges of sequence numbers, ascending; none is empty, overlaps another or touches it. All of them lie
/// within half of the sequence space.
#[derive(Clone, Default, Debug)]
pub struct SeqRanges(Vec<SeqRange>);

/// An emptied list with this capacity or more is freed.
const SPARE_RANGES: usize = 16;

impl Deref for SeqRanges {
    type Target = [SeqRange];

    #[inline]
    fn deref(&self) -> &[SeqRange] {
        &self.0
    }
}

impl SeqRanges {
    /// An empty set.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Memory that the list uses, bytes.
    pub fn held_bytes(&self) -> u64 {
        (self.0.capacity() * size_of::<SeqRange>()) as u64
    }

    /// Indices of the ranges that overlap `range` or touch it.
    pub fn touching(&self, range: SeqRange) -> Range<usize> {
        let first = self.0.partition_point(|r| r.end < range.start);
        let past = first + self.0[first..].iter().take_while(|r| r.start <= range.end).count();
        first..past
    }

    /// Adds a non-empty range and returns the merged range that contains it.
    pub fn insert(&mut self, range: SeqRange) -> SeqRange {
        let touching = self.touching(range);
        self.join(touching, range)
    }

    /// The same, with the indices that [`touching`](SeqRanges::touching) returned.
    pub fn join(&mut self, touching: Range<usize>, range: SeqRange) -> SeqRange {
        if touching.is_empty() {
            if self.0.len() == self.0.capacity() {
                // Mostly there are one or two.
                self.0.reserve_exact(self.0.len().max(2));
            }
            self.0.insert(touching.start, range);
            return range;
        }
        let (first, last) = (self.0[touching.start], self.0[touching.end - 1]);
        let union = SeqRange::new(range.start.min(first.start), range.end.max(last.end));
        self.0[touching.start] = union;
        self.0.drain(touching.start + 1..touching.end);
        union
    }

    /// True when the set covers all of `range`.
    pub fn cover(&self, range: SeqRange) -> bool {
        self.0.get(self.0.partition_point(|r| r.end < range.end)).is_some_and(|r| r.covers(range))
    }

    /// Removes everything below `seq`.
    #[inline]
    pub fn forget_below(&mut self, seq: SeqNumber) {
        if !self.0.is_empty() {
            self.cut_below(seq);
        }
    }

    fn cut_below(&mut self, seq: SeqNumber) {
        let gone = self.0.partition_point(|r| r.end <= seq);
        self.0.drain(..gone);
        match self.0.first_mut() {
            Some(first) => first.start = first.start.max(seq),
            None => self.clear(),
        }
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.0.clear();
        if self.0.capacity() >= SPARE_RANGES {
            self.0 = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    fn range(start: u32, end: u32) -> SeqRange {
        SeqRange::new(SeqNumber(start), SeqNumber(end))
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let mut r = SeqRanges::new();
        assert_eq!(r.insert(range(10, 20)), range(10, 20));
        assert_eq!(r.insert(range(30, 40)), range(30, 40));
        assert_eq!(r.insert(range(50, 60)), range(50, 60));
        assert_eq!(r.insert(range(20, 30)), range(10, 40));
        assert_eq!(*r, [range(10, 40), range(50, 60)]);
        assert_eq!(r.insert(range(0, 100)), range(0, 100));
        assert_eq!(*r, [range(0, 100)]);
    }

    #[test]
    fn ranges_equal_a_set_of_numbers() {
        // Around the wrap of the sequence space.
        let zero = u32::MAX - 100;
        let mut rng = Rng::stream(1, "ranges", 0);
        let mut below = |n: u32| (rng.unit() * f64::from(n)) as u32;
        for _ in 0..300 {
            let (mut ranges, mut set) = (SeqRanges::new(), [false; 200]);
            for _ in 0..60 {
                let start = below(199);
                let end = start + 1 + below((200 - start).min(12));
                let end = end.min(200);
                let wrapped = range(zero.wrapping_add(start), zero.wrapping_add(end));
                let (start, end) = (start as usize, end as usize);
                assert_eq!(ranges.cover(wrapped), set[start..end].iter().all(|held| *held));
                if below(8) == 0 {
                    ranges.forget_below(wrapped.start);
                    set[..start].fill(false);
                } else {
                    assert!(ranges.insert(wrapped).covers(wrapped));
                    set[start..end].fill(true);
                }
                let mut held = [false; 200];
                for r in ranges.iter() {
                    let from = r.start.0.wrapping_sub(zero) as usize;
                    held[from..from + r.len() as usize].fill(true);
                }
                assert_eq!(held, set);
                assert!(ranges.windows(2).all(|w| w[0].end < w[1].start), "{ranges:?}");
            }
        }
    }
}
