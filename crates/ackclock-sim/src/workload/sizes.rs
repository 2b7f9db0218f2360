//! Sizes of flows: the base distributions and the three traces derived from them (B-A7).

use ackclock_policy::Params;
use ackclock_units::{Bytes, Rng};

use super::cdf::Cdf;
use super::pareto::BoundedPareto;

/// Trace-I cuts samples above this (B-A7).
const CUT: f64 = 10_000.0;
/// Trace-III replaces samples below this, with this probability, by exponential ones of this mean (B-A7).
const SMALL: f64 = 5_000.0;
const REPLACED: f64 = 0.01;
const LONG_MEAN: f64 = 10_000_000.0;
/// Upper bound of every size, for distributions without one.
const LARGEST: Bytes = 1 << 50;

/// How a trace is derived from the base distribution (B-A7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trace {
    /// Short: samples above 10 kB are cut to 10 kB.
    I,
    /// The base distribution itself.
    II,
    /// Long: samples below 5 kB are, with probability 0.01, replaced by exponential ones of mean 10 MB.
    III,
}

/// A distribution of sizes in bytes.
#[derive(Clone, PartialEq, Debug)]
pub enum Base {
    /// One size.
    Fixed(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Bounded Pareto: the register's choice.
    Pareto(BoundedPareto),
    /// Lognormal, cut at a size, for a share of the flows; bounded Pareto for the rest.
    LognormalPareto {
        /// Median of the lognormal part.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Larger samples of the lognormal part become this.
        cut: f64,
        /// Share of the lognormal part.
        share: f64,
        /// The rest.
        tail: BoundedPareto,
    },
    /// A distribution function given as points.
    Empirical(Cdf),
}

impl Base {
    /// Reads the parameters of the declared kind `name`; `cdf` comes from elsewhere.
    pub(crate) fn from_params(name: &str, p: &Params, cdf: Option<Cdf>) -> Option<Self> {
        Some(match name {
            "fixed" => Self::Fixed(p.bytes("bytes") as f64),
            "exponential" => Self::Exponential(p.bytes("mean") as f64),
            "bounded-pareto" => {
                let (shape, max) = (p.ratio("shape"), p.bytes("max") as f64);
                Self::Pareto(match p.bytes("min") {
                    0 => BoundedPareto::with_mean(shape, p.bytes("mean") as f64, max)?,
                    min => BoundedPareto::new(shape, min as f64, max)?,
                })
            }
            "lognormal-pareto" => Self::LognormalPareto {
                median: p.bytes("median") as f64,
                sigma: p.ratio("sigma"),
                cut: p.bytes("cut") as f64,
                share: p.ratio("share"),
                tail: BoundedPareto::new(p.ratio("shape"), p.bytes("min") as f64, p.bytes("max") as f64)?,
            },
            _ => Self::Empirical(cdf?),
        })
    }

    fn draw(&self, rng: &mut Rng) -> f64 {
        match self {
            Self::Fixed(x) => *x,
            Self::Exponential(mean) => -mean * libm::log(rng.unit_open()),
            Self::Pareto(p) => p.quantile(rng.unit()),
            Self::LognormalPareto { median, sigma, cut, share, tail } => {
                // Three numbers for each sample, whichever part it falls in, so that changing the share keeps
                // the samples of each part.
                let (part, u, angle) = (rng.unit(), rng.unit_open(), rng.unit());
                if part >= *share {
                    return tail.quantile(1.0 - u);
                }
                // The Box-Muller transform.
                let normal = libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * std::f64::consts::PI * angle);
                (median * libm::exp(sigma * normal)).min(*cut)
            }
            Self::Empirical(cdf) => cdf.quantile(rng.unit()),
        }
    }

    /// P(X <= x).
    fn below(&self, x: f64) -> f64 {
        match self {
            Self::Fixed(size) => f64::from(*size <= x),
            Self::Exponential(mean) => 1.0 - libm::exp(-x.max(0.0) / mean),
            Self::Pareto(p) => p.below(x),
            Self::LognormalPareto { median, sigma, cut, share, tail } => {
                let lognormal =
                    if x >= *cut { 1.0 } else { normal_below(libm::log(x.max(1e-300) / median) / sigma) };
                share * lognormal + (1.0 - share) * tail.below(x)
            }
            Self::Empirical(cdf) => cdf.below(x),
        }
    }

    /// E[X; X <= x].
    fn mean_below(&self, x: f64) -> f64 {
        match self {
            Self::Fixed(size) => size * f64::from(*size <= x),
            Self::Exponential(mean) => {
                let x = x.max(0.0);
                mean - if x.is_finite() { (x + mean) * libm::exp(-x / mean) } else { 0.0 }
            }
            Self::Pareto(p) => p.mean_below(x),
            Self::LognormalPareto { median, sigma, cut, share, tail } => {
                let z = |x: f64| libm::log(x.max(1e-300) / median) / sigma;
                let uncut = |x: f64| median * libm::exp(sigma * sigma / 2.0) * normal_below(z(x) - sigma);
                let lognormal =
                    if x >= *cut { uncut(*cut) + cut * (1.0 - normal_below(z(*cut))) } else { uncut(x) };
                share * lognormal + (1.0 - share) * tail.mean_below(x)
            }
            Self::Empirical(cdf) => cdf.mean_below(x),
        }
    }
}

/// Distribution function of the standard normal distribution.
fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// A distribution of flow sizes.
#[derive(Clone, PartialEq, Debug)]
pub struct Sizes {
    /// The base distribution.
    pub base: Base,
    /// The trace derived from it.
    pub trace: Trace,
}

impl Sizes {
    /// One flow's size: at least one byte, rounded to whole bytes.
    pub fn draw(&self, rng: &mut Rng) -> Bytes {
        let x = self.base.draw(rng);
        let x = match self.trace {
            Trace::I => x.min(CUT),
            Trace::II => x,
            Trace::III => {
                // Both numbers are drawn for every flow, so that the base samples are those of Trace-II.
                let (chance, long) = (rng.unit(), -LONG_MEAN * libm::log(rng.unit_open()));
                if x < SMALL && chance < REPLACED { long } else { x }
            }
        };
        ((x + 0.5) as Bytes).clamp(1, LARGEST)
    }

    /// The mean, in closed form.
    pub fn mean(&self) -> f64 {
        let base = |x| self.base.mean_below(x);
        match self.trace {
            Trace::I => base(CUT) + CUT * (1.0 - self.base.below(CUT)),
            Trace::II => base(f64::INFINITY),
            Trace::III => base(f64::INFINITY) + REPLACED * (LONG_MEAN * self.base.below(SMALL) - base(SMALL)),
        }
    }

    /// P(X > x).
    pub fn above(&self, x: f64) -> f64 {
        let base = 1.0 - self.base.below(x);
        match self.trace {
            Trace::I => {
                if x < CUT {
                    base
                } else {
                    0.0
                }
            }
            Trace::II => base,
            Trace::III => {
                let small = self.base.below(SMALL);
                let kept = (small - self.base.below(x)).max(0.0);
                base - REPLACED * kept + REPLACED * small * libm::exp(-x / LONG_MEAN)
            }
        }
    }

    /// Mean number of segments of `mss` bytes that a flow needs.
    pub fn mean_segments(&self, mss: Bytes) -> f64 {
        // E[ceil(X/m)] is the sum of P(X > k m) over k = 0, 1, ...; far out in the tail it is approximated by
        // an integral with growing steps.
        let m = mss.max(1) as f64;
        let (mut sum, mut k, mut step) = (0.0_f64, 0.0_f64, 1.0_f64);
        loop {
            let p = self.above(k * m);
            if p <= 1e-15 || k * m > 1e16 {
                return sum.max(1.0);
            }
            sum += if step == 1.0 { p } else { step * 0.5 * (p + self.above((k + step) * m)) };
            k += step;
            if k >= 10_000.0 {
                step = (k / 1000.0).floor();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pareto(trace: Trace) -> Sizes {
        Sizes { base: Base::Pareto(BoundedPareto::with_mean(1.2, 7000.0, 2e9).unwrap()), trace }
    }

    fn second_choice(trace: Trace) -> Sizes {
        let tail = BoundedPareto::new(1.2, 1e4, 1e9).unwrap();
        Sizes {
            base: Base::LognormalPareto { median: 1024.0, sigma: 1.5, cut: 1e4, share: 0.9, tail },
            trace,
        }
    }

    fn close(met: f64, expected: f64, relative: f64) {
        assert!((met / expected - 1.0).abs() < relative, "{met} against {expected}");
    }

    #[test]
    fn the_traces_have_the_means_of_the_register() {
        // B-A7.
        close(pareto(Trace::II).mean(), 7000.0, 1e-9);
        close(pareto(Trace::I).mean(), 3351.19, 2e-6);
        close(pareto(Trace::III).mean(), 88260.6, 1e-6);
    }

    #[test]
    fn the_traces_have_the_probabilities_of_the_register() {
        // B-A7: P(<5 kB), P(>10 kB), P(>1 MB).
        let s = pareto(Trace::II);
        close(1.0 - s.above(5e3), 0.812787, 2e-6);
        close(s.above(1e4), 0.081489, 1e-5);
        close(s.above(1e6), 0.000324378, 1e-5);
        assert_eq!(pareto(Trace::I).above(1e4), 0.0);
    }

    #[test]
    fn draws_agree_with_the_closed_forms() {
        for trace in [Trace::I, Trace::II, Trace::III] {
            for s in [pareto(trace), second_choice(trace)] {
                let (mut rng, n) = (Rng::stream(5, "sizes", 0), 400_000);
                let drawn: Vec<_> = (0..n).map(|_| s.draw(&mut rng) as f64).collect();
                for x in [1500.0, 5000.0, 9999.0, 30_000.0, 1e6] {
                    let (p, met) =
                        (s.above(x + 0.5), drawn.iter().filter(|d| **d > x).count() as f64 / f64::from(n));
                    let sigma = (p * (1.0 - p) / f64::from(n)).sqrt();
                    assert!((met - p).abs() < 4.5 * sigma + 1e-9, "{trace:?} above {x}: {met} against {p}");
                }
                if trace == Trace::I {
                    close(drawn.iter().sum::<f64>() / f64::from(n), s.mean(), 0.005);
                    assert!(drawn.iter().all(|d| *d <= 1e4));
                }
            }
        }
    }

    #[test]
    fn the_closed_forms_agree_with_an_integral() {
        // E[min(X, c)] is the integral of P(X > x) up to c.
        for s in [pareto(Trace::II), second_choice(Trace::II)] {
            let (c, n) = (20_000.0, 200_000);
            let integral: f64 = (0..n).map(|i| s.above((f64::from(i) + 0.5) * c / f64::from(n))).sum::<f64>()
                * c
                / f64::from(n);
            close(s.base.mean_below(c) + c * s.above(c), integral, 1e-4);
        }
    }

    #[test]
    fn segments_are_counted_whole() {
        let fixed = |x| Sizes { base: Base::Fixed(x), trace: Trace::II }.mean_segments(1000);
        assert_eq!((fixed(1.0), fixed(1000.0), fixed(1001.0), fixed(2500.0)), (1.0, 1.0, 2.0, 3.0));
        // Trace-I: at most seven segments of 1460 bytes; the sum by hand.
        let s = pareto(Trace::I);
        let by_hand: f64 = (0..7).map(|k| s.above(f64::from(k) * 1460.0)).sum();
        close(s.mean_segments(1460), by_hand, 1e-12);
        // A heavy tail: about half a segment more than the mean size needs.
        let s = pareto(Trace::II);
        let segments = s.mean_segments(1000);
        assert!(segments > 7.3 && segments < 7.8, "{segments}");
    }

    #[test]
    fn long_flows_leave_the_others_as_they_are() {
        let (mut a, mut b) = (Rng::stream(5, "sizes", 0), Rng::stream(5, "sizes", 0));
        let base = pareto(Trace::II);
        let mut replaced = 0;
        for _ in 0..10_000 {
            let plain = base.draw(&mut a);
            a.next_u64();
            a.next_u64();
            replaced += u32::from(pareto(Trace::III).draw(&mut b) != plain);
        }
        assert!((50..120).contains(&replaced), "{replaced}");
    }
}
