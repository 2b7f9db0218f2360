//! Sojourn times in a queue: mean, percentiles and maximum, in memory that does not grow with packets.

use std::collections::VecDeque;

use ackclock_units::{Duration, Instant};

/// Bits of a value that its bucket keeps below the leading one: 64 buckets for each power of two, so that the
/// middle of a bucket is at most 1/128 (0.8 %) from any value in it.
const BITS: u32 = 6;

/// A histogram of durations: exact below 64 ns, in logarithmic buckets from there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DelayHistogram {
    /// Up to the highest bucket used so far; at most 3776.
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

impl DelayHistogram {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: Duration) {
        let ns = value.as_nanos();
        let i = bucket(ns);
        if i >= self.counts.len() {
            self.counts.resize(i + 1, 0);
        }
        self.counts[i] += 1;
        self.count += 1;
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean, exact to the nanosecond; `None` without values.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum.checked_div(u128::from(self.count))?;
        Some(Duration::from_nanos(mean as u64))
    }

    /// The largest value; `None` without values.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.max))
    }

    /// The smallest value that at least a share `q` of the values do not exceed, at most 0.8 % off; `None`
    /// without values.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let wanted = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        let found = self.counts.iter().position(|n| {
            below += n;
            below >= wanted
        });
        found.map(|i| Duration::from_nanos(middle(i).min(self.max)))
    }

    /// Memory that it holds beside itself, bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        (self.counts.capacity() * size_of::<u64>()) as u64
    }
}

fn bucket(ns: u64) -> usize {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(BITS + 1);
    ((shift << BITS) as u64 + (ns >> shift)) as usize
}

/// The middle of the values of bucket `i`.
fn middle(i: usize) -> u64 {
    let shift = (i >> BITS).saturating_sub(1) as u32;
    let low = (i as u64 - (u64::from(shift) << BITS)) << shift;
    low + ((1 << shift) - 1) / 2
}

/// The sojourn times of the packets of a link that went into service.
#[derive(Debug, Default)]
pub(super) struct Sojourns {
    /// Since counting began.
    all: DelayHistogram,
    /// Number, sum and maximum since they were last taken.
    recent: RecentSojourns,
    /// Packets of a first-in first-out queue whose time is known but that have not gone into service: when
    /// they will, and the time.
    ahead: VecDeque<(Instant, Duration)>,
    /// That of the packet added last.
    pub(super) latest: Duration,
}

/// Sojourn times of the packets that went into service in an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecentSojourns {
    /// Number of packets.
    pub count: u64,
    /// Sum of the times.
    pub sum: Duration,
    /// The longest.
    pub max: Duration,
}

impl Sojourns {
    /// A packet that arrived at `from` goes into service at `start`, which may lie in the future. Starts are
    /// passed in order.
    pub(super) fn add(&mut self, from: Instant, start: Instant) {
        self.advance(from);
        self.latest = start.since(from);
        self.ahead.push_back((start, self.latest));
    }

    /// Counts the packets that have gone into service by `now`.
    fn advance(&mut self, now: Instant) {
        while let Some((_, time)) = self.ahead.front().copied().filter(|(start, _)| *start <= now) {
            self.ahead.pop_front();
            self.all.add(time);
            self.recent.count += 1;
            self.recent.sum += time;
            self.recent.max = self.recent.max.max(time);
        }
    }

    /// Those of all packets since counting began.
    pub(super) fn all(&mut self, now: Instant) -> &DelayHistogram {
        self.advance(now);
        &self.all
    }

    /// Those since the last call.
    pub(super) fn take_recent(&mut self, now: Instant) -> RecentSojourns {
        self.advance(now);
        std::mem::take(&mut self.recent)
    }

    /// Counting begins.
    pub(super) fn restart(&mut self, now: Instant) {
        self.advance(now);
        self.all = DelayHistogram::default();
    }

    /// Memory that they hold, bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        let ahead = self.ahead.capacity() * size_of::<(Instant, Duration)>();
        (size_of::<Self>() + ahead) as u64 + self.all.held_bytes()
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Rng;

    use super::*;

    #[test]
    fn buckets_follow_each_other_and_hold_their_middle() {
        let mut last = None;
        for ns in
            (0..5000).chain((13..64).flat_map(|n| [(1u64 << n) - 1, 1 << n, (1 << n) + 1])).chain([u64::MAX])
        {
            let i = bucket(ns);
            assert_eq!(bucket(middle(i)), i, "{ns}");
            assert!(middle(i).abs_diff(ns) <= ns / 128, "{ns} is reported as {}", middle(i));
            assert!(last.is_none_or(|last| i == last || i == last + 1 || ns > 5000), "{ns}");
            last = Some(i);
        }
        assert_eq!(bucket(u64::MAX), 3775);
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let mut rng = Rng::stream(1, "sojourn", 0);
        // From 1 ns to 10 s, spread evenly over the logarithms.
        let mut values: Vec<u64> = (0..20_000).map(|_| 10f64.powf(rng.unit() * 10.0) as u64).collect();
        let mut histogram = DelayHistogram::default();
        values.iter().for_each(|ns| histogram.add(Duration::from_nanos(*ns)));
        values.sort_unstable();
        for (q, place) in [(0.0, 0), (0.5, 9_999), (0.95, 18_999), (0.99, 19_799), (1.0, 19_999)] {
            let (found, exact) = (histogram.quantile(q).unwrap().as_nanos(), values[place]);
            assert!(found.abs_diff(exact) <= exact / 128, "{q}: {found} for {exact}");
        }
        let sum: u128 = values.iter().map(|v| u128::from(*v)).sum();
        assert_eq!(histogram.mean(), Some(Duration::from_nanos((sum / 20_000) as u64)));
        assert_eq!(histogram.max(), values.last().map(|ns| Duration::from_nanos(*ns)));
    }

    #[test]
    fn without_values_there_is_nothing_to_report() {
        let none = DelayHistogram::default();
        assert_eq!((none.mean(), none.max(), none.quantile(0.5)), (None, None, None));
    }

    #[test]
    fn a_packet_counts_when_it_goes_into_service() {
        let (at, ms) = (Instant::from_nanos, 1_000_000);
        let mut sojourns = Sojourns::default();
        sojourns.add(at(0), at(0));
        sojourns.add(at(0), at(2 * ms));
        sojourns.add(at(ms), at(4 * ms));
        assert_eq!(sojourns.take_recent(at(ms)).count, 1);
        let recent = sojourns.take_recent(at(4 * ms));
        assert_eq!(
            (recent.count, recent.sum, recent.max),
            (2, Duration::from_millis(5), Duration::from_millis(3))
        );
        assert_eq!(sojourns.all(at(4 * ms)).count(), 3);
        sojourns.restart(at(4 * ms));
        assert_eq!(sojourns.all(at(5 * ms)).count(), 0);
    }
}
