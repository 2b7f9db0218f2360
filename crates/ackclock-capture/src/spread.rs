//! Percentiles in little memory.

use ackclock_units::Duration;

/// Count, mean, extremes and percentiles of times, in memory that grows only with their variety.
///
/// Times fall into buckets a 128th of an octave wide: a percentile is accurate to one part in 128, mean and
/// extremes are exact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    count: u64,
    sum: u128,
    min: Option<Duration>,
    max: Duration,
    /// The buckets that are not empty, in order, and the count of each. Two arrays, so that a search through
    /// a hundred of them touches few cache lines.
    places: Vec<u16>,
    counts: Vec<u64>,
}

const BITS: u32 = 7;

impl Spread {
    pub(crate) fn add(&mut self, d: Duration) {
        self.count += 1;
        self.sum += u128::from(d.as_nanos());
        self.min = Some(self.min.map_or(d, |m| m.min(d)));
        self.max = self.max.max(d);
        let place = bucket(d.as_nanos());
        match self.places.binary_search(&place) {
            Ok(i) => self.counts[i] += 1,
            Err(i) => {
                self.places.insert(i, place);
                self.counts.insert(i, 1);
            }
        }
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
        let (place, _) = self.places.iter().zip(&self.counts).find(|(_, n)| {
            below += **n;
            below >= rank
        })?;
        Some(Duration::from_nanos(middle(*place)).max(min).min(max))
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
}
