//! Ground truth about one direction of a connection: which bytes were dropped and which arrived. It checks
//! the engine's counters and finds the spurious ones among its retransmissions.

use ackclock_units::{SeqNumber, SeqRange, SeqRanges, mostly, seldom};

/// Stream ranges of which the latest copy was dropped in the network.
#[derive(Clone, Debug, Default)]
pub struct Dropped(Vec<DroppedRange>);

/// Twelve bytes, since a slow start that overshoots leaves many of them.
#[derive(Clone, Copy, Debug)]
struct DroppedRange {
    /// The lower 32 of 48 bits, as in a packet; the upper 16 below.
    low: u32,
    high: u16,
    /// A packet's payload has 16 bits of length.
    len: u16,
    /// Links that the dropped copy, or one before it, had passed.
    passed: u8,
}

impl DroppedRange {
    fn new(start: u64, end: u64, passed: u8) -> Self {
        Self { low: start as u32, high: (start >> 32) as u16, len: (end - start) as u16, passed }
    }

    fn start(&self) -> u64 {
        u64::from(self.high) << 32 | u64::from(self.low)
    }

    fn end(&self) -> u64 {
        self.start() + u64::from(self.len)
    }
}

impl Dropped {
    /// Notes that a copy of `start..end` was dropped after `passed` links.
    pub fn add(&mut self, start: u64, end: u64, passed: u8) {
        // Two copies of the same bytes may both be dropped. The ranges stay disjoint.
        let passed = self.take(start, end).map_or(passed, |before| before.max(passed));
        let at = self.0.partition_point(|r| r.start() < start);
        self.make_room();
        self.0.insert(at, DroppedRange::new(start, end, passed));
    }

    /// Removes `start..end`, of which a new copy is sent. Returns the largest number of links that a dropped
    /// copy of any part of it had passed, or `None` when no part was dropped. In that case the new copy is
    /// spurious: the original has arrived or is on its way.
    pub fn take(&mut self, start: u64, end: u64) -> Option<u8> {
        let mut passed = None;
        let mut i = 0;
        while i < self.0.len() && self.0[i].start() < end {
            let r = self.0[i];
            if r.end() <= start {
                i += 1;
                continue;
            }
            passed = passed.max(Some(r.passed));
            match (r.start() < start, r.end() > end) {
                (false, false) => {
                    self.0.remove(i);
                }
                (true, false) => {
                    self.0[i] = DroppedRange::new(r.start(), start, r.passed);
                    i += 1;
                }
                (false, true) => {
                    self.0[i] = DroppedRange::new(end, r.end(), r.passed);
                    i += 1;
                }
                (true, true) => {
                    self.0[i] = DroppedRange::new(r.start(), start, r.passed);
                    self.make_room();
                    self.0.insert(i + 1, DroppedRange::new(end, r.end(), r.passed));
                    i += 2;
                }
            }
        }
        self.shrink();
        passed
    }

    /// Forgets what lies below `acked`: it may hold a spurious copy that was dropped.
    #[inline]
    pub fn forget_below(&mut self, acked: u64) {
        if seldom(!self.0.is_empty()) && self.0[0].end() <= acked {
            self.forget_first(acked);
        }
    }

    #[inline(never)]
    fn forget_first(&mut self, acked: u64) {
        self.0.retain(|r| r.end() > acked);
        self.shrink();
    }

    /// Memory held by the list, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        (self.0.capacity() * size_of::<DroppedRange>()) as u64
    }

    fn make_room(&mut self) {
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact(self.0.len().max(LEAST_RANGES));
        }
    }

    /// Frees the memory of a list that grew long in a slow start that overshot.
    fn shrink(&mut self) {
        if self.0.is_empty() && self.0.capacity() >= SPARE_RANGES {
            self.0 = Vec::new();
        }
    }
}

/// An empty list of this capacity or more is freed.
const SPARE_RANGES: usize = 16;
/// Smallest capacity.
const LEAST_RANGES: usize = 4;

/// Stream ranges that were sent several times at once, each with the number of copies that can be dropped
/// before the bytes are lost.
#[derive(Debug, Default)]
pub(crate) struct Copied(Vec<(u64, u64, u32)>);

impl Copied {
    /// Notes that one more copy of `start..end` was sent.
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        match self.0.iter_mut().find(|c| (c.0, c.1) == (start, end)) {
            Some(known) => known.2 += 1,
            None => self.0.push((start, end, 1)),
        }
    }

    /// Notes that a copy of `start..end` was dropped. Returns true when there is another.
    pub(crate) fn drop_one(&mut self, start: u64, end: u64) -> bool {
        let Some(i) = self.0.iter().position(|c| (c.0, c.1) == (start, end)) else { return false };
        self.0[i].2 -= 1;
        if self.0[i].2 == 0 {
            self.0.remove(i);
        }
        true
    }

    /// Memory held by the list, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        (self.0.capacity() * size_of::<(u64, u64, u32)>()) as u64
    }

    /// Forgets ranges that `start..end` touches.
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        self.0.retain(|c| c.1 <= start || end <= c.0);
    }
}

/// Bytes of a stream that have arrived at the receiver's host.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    /// All bytes below this position have arrived.
    pub(crate) prefix: u64,
    /// Ranges that have arrived above it. A sender is less than 2^30 bytes ahead (RFC 7323 §2.3), so the
    /// lower 32 bits identify a position.
    above: SeqRanges,
}

impl Arrived {
    #[inline(always)]
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        if mostly((start == self.prefix) & self.above.is_empty()) {
            self.prefix = end;
        } else if end > self.prefix {
            self.insert(start.max(self.prefix), end);
        }
    }

    /// How many bytes have arrived.
    pub(crate) fn bytes(&self) -> u64 {
        self.prefix + self.above.iter().map(|r| u64::from(r.len())).sum::<u64>()
    }

    /// Memory held by the list, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.above.held_bytes()
    }

    #[inline(never)]
    fn insert(&mut self, start: u64, end: u64) {
        debug_assert!(end - self.prefix < 1 << 31, "no window is that large");
        let low = |position: u64| SeqNumber(position as u32);
        let union = self.above.insert(SeqRange::new(low(start), low(end)));
        if union.start == low(self.prefix) {
            self.prefix += u64::from(union.len());
            self.above.forget_below(union.end);
        }
    }
}
