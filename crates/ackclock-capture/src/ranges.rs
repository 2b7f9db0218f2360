//! Disjoint ranges of sequence space.

/// Disjoint half-open ranges in order, at most [`MOST_RANGES`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

/// More ranges than a realistic window has; beyond them new ones are ignored.
pub(crate) const MOST_RANGES: usize = 4096;

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn last_end(&self) -> Option<u64> {
        self.0.last().map(|r| r.1)
    }

    /// Adds `start..end`; calls `new` with each part that was not in it before. False if there is no room.
    pub(crate) fn add(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) -> bool {
        if start >= end {
            return true;
        }
        // The ranges that it touches are `first..past`.
        let first = self.0.partition_point(|r| r.1 < start);
        let past = self.0.partition_point(|r| r.0 <= end);
        if first == past {
            if self.0.len() >= MOST_RANGES {
                return false;
            }
            new(start, end);
            self.0.insert(first, (start, end));
            return true;
        }
        let mut at = start;
        for &(s, e) in &self.0[first..past] {
            if at < s {
                new(at, s.min(end));
            }
            at = at.max(e);
        }
        if at < end {
            new(at, end);
        }
        let joined = (start.min(self.0[first].0), end.max(self.0[past - 1].1));
        self.0.splice(first..past, [joined]);
        true
    }

    /// Drops everything below `to`.
    pub(crate) fn forget_below(&mut self, to: u64) {
        let past = self.0.partition_point(|r| r.1 <= to);
        self.0.drain(..past);
        if let Some(r) = self.0.first_mut() {
            r.0 = r.0.max(to);
        }
    }

    /// Bytes covered from `from` on.
    pub(crate) fn bytes_above(&self, from: u64) -> u64 {
        self.0.iter().rev().take_while(|r| r.1 > from).map(|r| r.1 - r.0.max(from)).sum()
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Rng;

    use super::*;

    #[test]
    fn they_do_what_a_set_of_numbers_does() {
        let mut rng = Rng::stream(1, "ranges", 0);
        for _ in 0..200 {
            let (mut ranges, mut set) = (Ranges::default(), std::collections::BTreeSet::new());
            for _ in 0..60 {
                let start = rng.below(60);
                let end = start + rng.below(12);
                match rng.below(3) {
                    0 | 1 => {
                        let mut new = Vec::new();
                        assert!(ranges.add(start, end, |s, e| new.extend(s..e)));
                        assert_eq!(new, (start..end).filter(|n| !set.contains(n)).collect::<Vec<_>>());
                        set.extend(start..end);
                    }
                    _ => {
                        ranges.forget_below(start / 4);
                        set.retain(|n| *n >= start / 4);
                    }
                }
                assert_eq!(
                    ranges.0.iter().flat_map(|r| r.0..r.1).collect::<Vec<_>>(),
                    set.iter().copied().collect::<Vec<_>>()
                );
                assert_eq!(ranges.bytes_above(start), set.range(start..).count() as u64);
            }
        }
    }

    #[test]
    fn there_is_a_limit() {
        let mut ranges = Ranges::default();
        for i in 0..MOST_RANGES as u64 {
            assert!(ranges.add(10 * i, 10 * i + 1, |_, _| ()));
        }
        assert!(!ranges.add(1_000_000, 1_000_001, |_, _| ()));
        assert!(ranges.add(10, 11, |_, _| ()), "what is there already takes no room");
    }
}
