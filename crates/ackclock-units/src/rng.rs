use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// One named stream of random numbers.
///
/// A run has one seed. Every component draws from its own stream, which has a name and a number, so that
/// adding a flow or a probe does not change what the others draw.
#[derive(Clone, Debug)]
pub struct Rng(State);

/// Every connection has streams from which few numbers are drawn, often none. They hold the seed alone; the
/// generator's whole state is allocated at the third number.
#[derive(Clone, Debug)]
enum State {
    Seed { seed: u64, drawn: u8 },
    Generator(Box<Xoshiro256PlusPlus>),
}

impl State {
    /// Numbers that are computed from the seed each time.
    const FEW: u8 = 2;

    #[inline(never)]
    fn next_from_seed(&mut self, seed: u64, drawn: u8) -> u64 {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..drawn).for_each(|_| _ = generator.next_u64());
        let next = generator.next_u64();
        *self = if drawn < Self::FEW {
            Self::Seed { seed, drawn: drawn + 1 }
        } else {
            Self::Generator(Box::new(generator))
        };
        next
    }
}

impl Rng {
    /// The stream `name`, number `index`, of the run with seed `seed`.
    pub fn stream(seed: u64, name: &str, index: u64) -> Self {
        // FNV-1a over the name, then SplitMix64 to spread seed, name and number over the whole state.
        let name = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        let mut mix = SplitMix64::seed_from_u64(seed);
        let a = mix.next_u64() ^ name;
        let mut mix = SplitMix64::seed_from_u64(a);
        let b = mix.next_u64() ^ index;
        Self(State::Seed { seed: SplitMix64::seed_from_u64(b).next_u64(), drawn: 0 })
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        match &mut self.0 {
            State::Generator(generator) => generator.next_u64(),
            State::Seed { seed, drawn } => {
                let (seed, drawn) = (*seed, *drawn);
                self.0.next_from_seed(seed, drawn)
            }
        }
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
    fn a_stream_is_the_same_whether_it_keeps_its_seed_or_its_state() {
        let mut rng = Rng::stream(3, "few", 1);
        let State::Seed { seed, .. } = rng.0 else { panic!("nothing was drawn") };
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        for n in 0..6 {
            assert_eq!(matches!(rng.0, State::Seed { .. }), n <= State::FEW, "{n} drawn");
            assert_eq!(rng.clone().next_u64(), rng.next_u64());
            generator.next_u64();
        }
        assert_eq!(rng.next_u64(), generator.next_u64());
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
