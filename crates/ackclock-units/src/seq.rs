use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A TCP sequence number, compared by wrapped difference (RFC 9293 §3.4).
///
/// Two numbers 2^31 apart compare as "less" from either side; no operation panics for any numbers that a peer
/// sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// Bytes from `earlier` to this number, negative when it lies behind.
    pub const fn diff(self, earlier: Self) -> i32 {
        self.0.wrapping_sub(earlier.0) as i32
    }

    /// Bytes from `earlier` to this number, zero when it lies behind.
    pub const fn bytes_since(self, earlier: Self) -> u32 {
        let d = self.diff(earlier);
        if d > 0 { d as u32 } else { 0 }
    }

    /// The later of two numbers.
    pub fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// The earlier of two numbers.
    pub fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }
}

impl PartialOrd for SeqNumber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.diff(*other).cmp(&0))
    }
}

impl Add<u32> for SeqNumber {
    type Output = Self;
    fn add(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }
}

impl AddAssign<u32> for SeqNumber {
    fn add_assign(&mut self, n: u32) {
        *self = *self + n;
    }
}

impl Sub<u32> for SeqNumber {
    type Output = Self;
    fn sub(self, n: u32) -> Self {
        Self(self.0.wrapping_sub(n))
    }
}

impl fmt::Debug for SeqNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for SeqNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A half-open range of sequence numbers: `start` is in it, `end` is not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SeqRange {
    /// First number of the range.
    pub start: SeqNumber,
    /// First number past the range.
    pub end: SeqNumber,
}

impl SeqRange {
    /// The range from `start` up to, not including, `end`.
    pub const fn new(start: SeqNumber, end: SeqNumber) -> Self {
        Self { start, end }
    }

    /// Length in bytes; zero when it ends before it starts.
    pub const fn len(self) -> u32 {
        self.end.bytes_since(self.start)
    }

    /// True when it holds nothing.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// True when `seq` lies in it.
    pub fn contains(self, seq: SeqNumber) -> bool {
        self.start <= seq && seq < self.end
    }

    /// True when all of `other` lies in it.
    pub fn covers(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// True when it is not empty and all of it lies in `bounds`, measured from where `bounds` starts: unlike
    /// [`covers`](SeqRange::covers), which compares neighbours, it holds for any numbers, those half of the
    /// sequence space away included. For ranges from a peer, such as SACK blocks.
    pub fn is_inside(self, bounds: Self) -> bool {
        let from = |seq: SeqNumber| seq.0.wrapping_sub(bounds.start.0);
        from(self.start) < from(self.end) && from(self.end) <= bounds.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_wraps() {
        let (a, b) = (SeqNumber(u32::MAX - 1), SeqNumber(3));
        assert!(a < b);
        assert!(b > a);
        assert_eq!(b.diff(a), 5);
        assert_eq!(a.bytes_since(b), 0);
        assert_eq!(a.max(b), b);
        assert_eq!(SeqRange::new(a, b).len(), 5);
        assert!(SeqRange::new(a, b).contains(SeqNumber(0)));
        assert!(!SeqRange::new(a, b).contains(b));
    }

    #[test]
    fn a_range_of_any_numbers_is_inside_or_not() {
        let base = SeqNumber(u32::MAX - 10);
        let bounds = SeqRange::new(base, base + 100);
        let range = |start: u32, end: u32| SeqRange::new(base + start, base + end);
        for (start, end) in [(0, 1), (0, 100), (99, 100), (40, 60)] {
            assert!(range(start, end).is_inside(bounds), "{start}..{end}");
        }
        let half = 1 << 31;
        for (start, end) in [
            (0, 0),
            (100, 100),
            (60, 40),
            (0, 101),
            (101, 102),
            (u32::MAX, 1),
            // Each of these passes a comparison of neighbours.
            (0x6000_0000, 0xc000_0000),
            (half - 1, u32::MAX),
            (50, half + 49),
            (half, half + 1),
        ] {
            assert!(!range(start, end).is_inside(bounds), "{start}..{end}");
        }
        assert!(!range(0, 0).is_inside(range(0, 0)));
        // Bounds of more than half of the space hold nothing, and so do empty ones.
        assert!(!range(1, 2).is_inside(range(0, half + 1)));
    }
}
