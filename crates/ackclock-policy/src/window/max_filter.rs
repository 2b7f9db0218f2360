//! The largest of recent values, by Kathleen Nichols' algorithm: the best value of the window, and the best
//! of the later parts of it to succeed when that is too old.

/// A value and its time.
type Entry = (u64, u64);

/// The largest value within a window of time; the unit of time is the caller's (round trips, or cycles).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxFilter {
    /// Time and value of the best, of the best since then, and of the best since that.
    best: [Entry; 3],
}

impl MaxFilter {
    /// The largest value.
    pub fn get(&self) -> u64 {
        self.best[0].1
    }

    /// Takes a value; those older than `window` leave. Times do not decrease. Returns the largest.
    pub fn push(&mut self, window: u64, time: u64, value: u64) -> u64 {
        let new = (time, value);
        let age = |entry: Entry| time.saturating_sub(entry.0);
        if value >= self.best[0].1 || age(self.best[2]) > window {
            self.best = [new; 3];
            return value;
        }
        if value >= self.best[1].1 {
            self.best[1..].fill(new);
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        let [first, second, third] = self.best;
        if age(first) > window {
            self.best = [second, third, new];
            if age(second) > window {
                self.best = [third, new, new];
            }
        } else if second.0 == first.0 && age(second) > window / 4 {
            // A quarter of the window without a better second one: this is the best of the rest.
            self.best[1..].fill(new);
        } else if third.0 == second.0 && age(third) > window / 2 {
            self.best[2] = new;
        }
        self.get()
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Rng;

    use super::MaxFilter;

    #[test]
    fn it_follows_the_largest_of_the_window() {
        let mut rng = Rng::stream(1, "max filter", 0);
        for window in [1, 2, 5, 10, 40] {
            let (mut filter, mut all, mut time) = (MaxFilter::default(), Vec::new(), 0);
            for _ in 0..2000 {
                time += rng.below(2);
                let value = 1 + rng.below(1000);
                all.push((time, value));
                let kept = filter.push(window, time, value);
                let most = |since: u64| all.iter().filter(|e| e.0 >= since).map(|e| e.1).max();
                // Three values stand for all, so that a large one may be missed, but none too old is kept,
                // and never less than the last.
                assert!(kept <= most(time.saturating_sub(window)).unwrap_or(0));
                assert!(kept >= value);
            }
        }
    }

    #[test]
    fn a_value_leaves_after_the_window() {
        let mut filter = MaxFilter::default();
        let kept: Vec<_> = (0..8).map(|t| filter.push(4, t, if t == 1 { 100 } else { 1 })).collect();
        assert_eq!(kept, [1, 100, 100, 100, 100, 100, 1, 1]);
    }
}
