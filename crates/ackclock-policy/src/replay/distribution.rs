/// Mean, extremes and quantiles of any number of values, in bounded memory.
///
/// Values fall into buckets a 128th of an octave wide, from a billionth to ten billion: a quantile is right
/// to within one part in 128. Mean and extremes are exact.
#[derive(Clone, Debug)]
pub struct Distribution {
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
    buckets: Box<[u64]>,
}

/// Mantissa bits that choose a bucket within an octave.
const BITS: u32 = 7;
/// Biased exponent of the first octave, 2^-30.
const FIRST: u64 = 1023 - 30;
const OCTAVES: usize = 64;

impl Default for Distribution {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            buckets: vec![0; OCTAVES << BITS].into(),
        }
    }
}

impl Distribution {
    /// Adds a value, which must not be negative. Values outside the buckets count in the nearest one.
    #[inline]
    pub fn add(&mut self, x: f64) {
        self.count += 1;
        self.sum += x;
        self.min = self.min.min(x);
        self.max = self.max.max(x);
        // The exponent and the first bits of the mantissa of a positive number, read as one integer, grow
        // with its logarithm.
        let place = (x.to_bits() >> (52 - BITS)).saturating_sub(FIRST << BITS) as usize;
        let last = self.buckets.len() - 1;
        self.buckets[place.min(last)] += 1;
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The smallest.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    /// The `q`-quantile: 0 gives the smallest value, 1 the largest.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let rank = q.clamp(0.0, 1.0) * self.count as f64;
        let mut below = 0.0;
        for (i, n) in self.buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
            let n = *n as f64;
            if below + n >= rank {
                let edge = |i: usize| f64::from_bits(((FIRST << BITS) + i as u64) << (52 - BITS));
                let part = ((rank - below) / n).clamp(0.0, 1.0);
                return Some((edge(i) + part * (edge(i + 1) - edge(i))).clamp(self.min, self.max));
            }
            below += n;
        }
        Some(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_within_a_bucket() {
        let mut d = Distribution::default();
        assert_eq!((d.mean(), d.quantile(0.5)), (None, None));
        (1..=100_000).for_each(|i| d.add(f64::from(i) * 1e-3));
        assert_eq!((d.count(), d.min(), d.max()), (100_000, Some(1e-3), Some(100.0)));
        assert!((d.mean().expect("values") - 50.0005).abs() < 1e-9);
        for q in [0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999] {
            let got = d.quantile(q).expect("values");
            assert!((got / (100.0 * q) - 1.0).abs() < 1.0 / 128.0, "{got} at {q}");
        }
        assert_eq!((d.quantile(0.0), d.quantile(1.0)), (Some(1e-3), Some(100.0)));
    }

    #[test]
    fn values_outside_the_buckets_count_at_their_ends() {
        let mut d = Distribution::default();
        [0.0, 1e-300, 1e300, f64::MAX].into_iter().for_each(|x| d.add(x));
        assert_eq!((d.count(), d.min(), d.max()), (4, Some(0.0), Some(f64::MAX)));
        assert!(d.quantile(0.3).expect("values") < 1e-8 && d.quantile(0.9).expect("values") > 1e9);
    }
}
