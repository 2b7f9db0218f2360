//! Data that was acknowledged before the capture had it. If it is captured later, the capturing machine has put
//! the two in the wrong order: it is no retransmission.

use std::collections::VecDeque;

/// Ranges remembered. Chosen, because packets that a machine captures on several queues are out of order by a few.
const MOST_RANGES: usize = 16;

/// Ranges that were acknowledged and had not been captured, the latest last.
#[derive(Debug, Default)]
pub(crate) struct Unseen {
    ranges: VecDeque<(u64, u64)>,
}

impl Unseen {
    /// Called when `start..end` is acknowledged, of which nothing was captured.
    pub(super) fn add(&mut self, start: u64, end: u64) {
        if self.ranges.len() == MOST_RANGES {
            self.ranges.pop_front();
        }
        self.ranges.push_back((start, end));
    }

    /// True if `start..end` was acknowledged unseen; a second copy of it is then a retransmission.
    pub(super) fn take(&mut self, start: u64, end: u64) -> bool {
        let Some(i) = self.ranges.iter().position(|r| r.0 <= start && end <= r.1) else { return false };
        let (from, to) = self.ranges[i];
        self.ranges.remove(i);
        for (from, to) in [(from, start), (end, to)] {
            if from < to {
                self.add(from, to);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_taken_once_and_in_parts() {
        let mut unseen = Unseen::default();
        unseen.add(100, 400);
        assert!(!unseen.take(50, 150), "a part of it was captured");
        assert!(unseen.take(200, 300));
        assert!(!unseen.take(200, 300), "the second copy is a retransmission");
        assert!(unseen.take(100, 200) && unseen.take(300, 400));
        for i in 0..100 {
            unseen.add(1000 * i, 1000 * i + 1);
        }
        assert!(!unseen.take(0, 1) && unseen.take(99_000, 99_001), "the latest are remembered");
    }
}
