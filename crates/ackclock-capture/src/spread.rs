//! Percentiles in little memory.

use ackclock_units::Duration;

/// Count, mean, extremes and percentiles of times, in memory that grows only with their variety.
///
/// Times fall into buckets a 128th of an octave wide: a percentile is accurate to one part in 128, mean and
/// extremes are exact.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    count: u64,
    sum: u128,
    min: Option<Duration>,
    max: Duration,
    /// Which groups of neighbouring buckets have a count, and for each 64 of them how many have one before.
    used: [u64; WORDS],
    before: [u8; WORDS],
    /// The counts of these groups, in order. Each fills a cache line, and an addition touches one.
    groups: Vec<[u16; GROUP]>,
    /// The group of the latest time, and its place.
    latest: (u8, u8),
    /// Buckets whose counts have passed their range, and how often.
    passed: Vec<(u16, u64)>,
}

const BITS: u32 = 7;
/// Buckets in a group.
const GROUP: usize = 32;
/// Words that have a bit for each group: 64 octaves.
const WORDS: usize = (64 << BITS) / GROUP / 64;

impl PartialEq for Spread {
    fn eq(&self, other: &Self) -> bool {
        (self.sum, self.min, self.max) == (other.sum, other.min, other.max)
            && self.counts().eq(other.counts())
    }
}

impl Spread {
    pub(crate) fn add(&mut self, d: Duration) {
        self.count += 1;
        self.sum += u128::from(d.as_nanos());
        if self.min.is_none_or(|min| d < min) {
            self.min = Some(d);
        }
        self.max = self.max.max(d);
        let place = bucket(d.as_nanos());
        let (group, within) = (usize::from(place) / GROUP, usize::from(place) % GROUP);
        // Times close to each other come one after the other.
        if self.latest.0 != group as u8 || self.groups.is_empty() {
            self.latest = (group as u8, self.place_of(group));
        }
        let count = &mut self.groups[usize::from(self.latest.1)][within];
        *count = count.wrapping_add(1);
        if *count == 0 {
            self.pass(place);
        }
    }

    /// The place of a group in `groups`, where it is made if it is new.
    fn place_of(&mut self, group: usize) -> u8 {
        let (word, bit) = (group / 64, 1 << (group % 64));
        let at = usize::from(self.before[word]) + (self.used[word] & (bit - 1)).count_ones() as usize;
        if self.used[word] & bit == 0 {
            self.insert_group(word, bit, at);
        }
        at as u8
    }

    #[cold]
    fn insert_group(&mut self, word: usize, bit: u64, at: usize) {
        // There are as many spreads as directions, so that room for twice as much would count.
        if self.groups.len() == self.groups.capacity() {
            self.groups.reserve_exact(self.groups.len() / 4 + 2);
        }
        self.groups.insert(at, [0; GROUP]);
        self.used[word] |= bit;
        self.before[word + 1..].iter_mut().for_each(|n| *n += 1);
    }

    #[cold]
    fn pass(&mut self, place: u16) {
        match self.passed.iter_mut().find(|(passed, _)| *passed == place) {
            Some((_, times)) => *times += 1,
            None => self.passed.push((place, 1)),
        }
    }

    /// The buckets of the groups that have a count, in order, each with its count.
    fn counts(&self) -> impl Iterator<Item = (u16, u64)> {
        let bits = |word: &u64| {
            let word = *word;
            (0..64).filter(move |bit| word >> bit & 1 == 1)
        };
        let groups =
            self.used.iter().enumerate().flat_map(move |(i, word)| bits(word).map(move |bit| i * 64 + bit));
        groups.zip(&self.groups).flat_map(move |(group, counts)| {
            counts.iter().enumerate().map(move |(within, n)| {
                let place = (group * GROUP + within) as u16;
                let passed = self.passed.iter().find(|(passed, _)| *passed == place);
                (place, u64::from(*n) + passed.map_or(0, |(_, times)| times << u16::BITS))
            })
        })
    }

    /// How many times were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest.
    pub fn min(&self) -> Option<Duration> {
        self.min
    }

    /// The largest.
    pub fn max(&self) -> Option<Duration> {
        self.min.map(|_| self.max)
    }

    /// Their mean.
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos((self.sum / u128::from(self.count)) as u64))
    }

    /// The quantile `q`: the time that this part of them does not exceed.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let (min, max) = (self.min?, self.max);
        let rank = (q.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        if rank >= self.count {
            return Some(max);
        }
        let mut below = 0;
        let (place, _) = self.counts().find(|(_, n)| {
            below += n;
            below >= rank
        })?;
        Some(Duration::from_nanos(middle(place)).max(min).min(max))
    }
}

/// The bucket of `n`: its highest bit and the seven below that.
fn bucket(n: u64) -> u16 {
    let octave = 63 - n.max(1).leading_zeros();
    let part = if octave >= BITS { n >> (octave - BITS) } else { n << (BITS - octave) } & ((1 << BITS) - 1);
    ((octave << BITS) | part as u32) as u16
}

/// The middle of a bucket.
fn middle(place: u16) -> u64 {
    let (octave, part) = (u32::from(place) >> BITS, u64::from(place) & ((1 << BITS) - 1));
    let edge = |part: u64| ((1_u128 << octave) + ((u128::from(part) << octave) >> BITS)) as u64;
    edge(part) + (edge(part + 1).saturating_sub(edge(part))) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_within_a_bucket() {
        let mut s = Spread::default();
        assert_eq!((s.mean(), s.quantile(0.5), s.max()), (None, None, None));
        (1..=10_000).for_each(|i| s.add(Duration::from_micros(i)));
        assert_eq!(
            (s.count(), s.min(), s.max()),
            (10_000, Some(Duration::from_micros(1)), Some(Duration::from_millis(10)))
        );
        assert_eq!(s.mean(), Some(Duration::from_nanos(5_000_500)));
        for q in [0.01, 0.25, 0.5, 0.95, 0.99, 1.0] {
            let got = s.quantile(q).unwrap().as_nanos() as f64;
            assert!((got / (1e7 * q) - 1.0).abs() < 1.0 / 128.0, "{got} at {q}");
        }
        for n in [0, 1, 2, 127, 128, 129, 1 << 40, u64::MAX] {
            s.add(Duration::from_nanos(n));
        }
        assert_eq!(s.quantile(1.0), Some(Duration::MAX));
    }

    #[test]
    fn a_bucket_counts_beyond_sixteen_bits() {
        let mut s = Spread::default();
        (0..200_000).for_each(|_| s.add(Duration::from_millis(5)));
        (0..100_000).for_each(|_| s.add(Duration::from_secs(7)));
        let close = |q, ms: u64| {
            let got = s.quantile(q).unwrap().as_nanos() as f64;
            (got / (ms as f64 * 1e6) - 1.0).abs() < 1.0 / 128.0
        };
        assert!(close(0.66, 5) && close(0.67, 7000));
        assert_eq!(s.counts().map(|(_, n)| n).sum::<u64>(), 300_000);
    }
}
