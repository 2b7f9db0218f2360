use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// One named stream of random numbers.
///
/// A run has one seed; every component draws from a stream of its own, named and numbered, so that adding a flow or a
/// probe does not change what the others draw.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream `name`, number `index`, of the run with seed `seed`.
    pub fn stream(seed: u64, name: &str, index: u64) -> Self {
        // FNV-1a over the name, then SplitMix64 to spread seed, name and number over the whole state.
        let name = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        let mut mix = SplitMix64::seed_from_u64(seed);
        let a = mix.next_u64() ^ name;
        let mut mix = SplitMix64::seed_from_u64(a);
        let b = mix.next_u64() ^ index;
        Self(Xoshiro256PlusPlus::seed_from_u64(SplitMix64::seed_from_u64(b).next_u64()))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A real number in `[0, 1)`, uniform, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A real number in `(0, 1]`, uniform: safe to take the logarithm of.
    pub fn unit_open(&mut self) -> f64 {
        1.0 - self.unit()
    }

    /// A whole number in `0..n`, uniform; `0` for `n = 0`.
    pub fn below(&mut self, n: u64) -> u64 {
        // Lemire's multiplication; the bias is below n / 2^64.
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.unit() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, name, index| Rng::stream(seed, name, index).next_u64();
        assert_eq!(draw(1, "loss", 0), draw(1, "loss", 0));
        assert_ne!(draw(1, "loss", 0), draw(2, "loss", 0));
        assert_ne!(draw(1, "loss", 0), draw(1, "loss", 1));
        assert_ne!(draw(1, "loss", 0), draw(1, "size", 0));
    }

    #[test]
    fn unit_numbers_are_uniform() {
        let mut rng = Rng::stream(7, "unit", 0);
        let n = 100_000;
        let mean = (0..n).map(|_| rng.unit()).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.005, "mean {mean}");
        assert!((0..1000).all(|_| rng.below(7) < 7));
    }
}
