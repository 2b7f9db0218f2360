//! Distributions of sizes, counts and times around a mean.

use ackclock_units::Rng;

use crate::{Param, Params};

/// A distribution with mean 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Distribution {
    /// Always the mean.
    Fixed,
    Exponential,
    /// Of this standard deviation of the logarithm.
    Lognormal(f64),
    /// Of this shape, above 1.
    Pareto(f64),
}

/// The names of the distributions.
pub(super) const NAMES: &[&str] = &["fixed", "exponential", "lognormal", "pareto"];

/// The shape of a Pareto distribution.
pub(super) const fn shape(name: &'static str, about: &'static str) -> Param {
    Param::ratio(name, 1.5, 1.01..=100.0, about)
}

impl Distribution {
    /// Reads the distribution that the parameter `name` names, and its width: `sigma` and `shape` are names
    /// of parameters too.
    pub fn of(p: &Params, name: &str, sigma: &str, shape: &str) -> Self {
        match p.choice(name) {
            "exponential" => Self::Exponential,
            "lognormal" => Self::Lognormal(p.ratio(sigma)),
            "pareto" => Self::Pareto(p.ratio(shape)),
            _ => Self::Fixed,
        }
    }

    /// A sample. Each distribution draws the same count of numbers for every sample.
    pub fn draw(self, rng: &mut Rng) -> f64 {
        match self {
            Self::Fixed => 1.0,
            Self::Exponential => -libm::log(rng.unit_open()),
            Self::Lognormal(sigma) => {
                // The Box-Muller transform. The mean of exp(sigma z) is exp(sigma^2 / 2).
                let (u, angle) = (rng.unit_open(), rng.unit());
                let z = libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * std::f64::consts::PI * angle);
                libm::exp(sigma * z - sigma * sigma / 2.0)
            }
            // A Pareto distribution of mean m and shape a begins at m (a-1)/a.
            Self::Pareto(a) => (a - 1.0) / a * libm::pow(rng.unit_open(), -1.0 / a),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_distribution_has_mean_one_and_its_own_spread() {
        // P(X > 2): e^-2; for sigma = 1 the normal tail above (ln 2 + 1/2) = 1.19315; (1.5 / 2.5 / 2)^2.5.
        let cases = [
            (Distribution::Fixed, 0.0),
            (Distribution::Exponential, 0.135_335),
            (Distribution::Lognormal(1.0), 0.116_398),
            (Distribution::Pareto(2.5), 0.049_295),
        ];
        for (distribution, above) in cases {
            let (mut rng, n) = (Rng::stream(1, "distribution", 0), 400_000);
            let all: Vec<f64> = (0..n).map(|_| distribution.draw(&mut rng)).collect();
            let mean = all.iter().sum::<f64>() / f64::from(n);
            assert!((mean - 1.0).abs() < 0.02, "{distribution:?}: {mean}");
            let share = all.iter().filter(|x| **x > 2.0).count() as f64 / f64::from(n);
            assert!((share - above).abs() < 0.002, "{distribution:?}: {share} above 2");
        }
    }
}
