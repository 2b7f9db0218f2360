//! Random extra delay of each packet.

use std::sync::Arc;

use ackclock_policy::{Declaration, Param, Params};
use ackclock_units::{Duration, Rng};

use crate::workload::Cdf;

/// A distribution of extra delays.
#[derive(Clone, Debug)]
pub struct Jitter {
    delays: Delays,
    /// Packets may overtake others.
    pub(super) reorders: bool,
}

#[derive(Clone, Debug)]
enum Delays {
    Uniform {
        least: Duration,
        most: Duration,
    },
    Normal {
        mean: f64,
        deviation: f64,
    },
    Pareto {
        scale: f64,
        shape: f64,
    },
    /// In milliseconds.
    Points(Arc<Cdf>),
}

/// The longest extra delay.
const LONGEST: Duration = Duration::from_secs(3600);

impl Jitter {
    /// A distribution with the declared keys, or that of `points`, milliseconds, if they are given.
    pub fn new(p: &Params, points: Option<Arc<Cdf>>) -> Self {
        let (mean, deviation) = (p.duration("mean"), p.duration("deviation"));
        let delays = match (points, p.choice("distribution")) {
            (Some(points), _) => Delays::Points(points),
            (None, "normal") => {
                Delays::Normal { mean: mean.as_secs_f64(), deviation: deviation.as_secs_f64() }
            }
            (None, "pareto") => {
                let shape = p.ratio("shape");
                Delays::Pareto { scale: mean.as_secs_f64() * (shape - 1.0) / shape, shape }
            }
            _ => {
                // A uniform distribution of half width w has the standard deviation w / sqrt(3).
                let half = deviation.mul_f64(libm::sqrt(3.0));
                Delays::Uniform { least: mean.saturating_sub(half), most: mean + half }
            }
        };
        Self { delays, reorders: p.flag("reorder") }
    }

    /// The extra delay of a packet. Every packet draws two numbers, whatever the distribution.
    pub(super) fn draw(&self, rng: &mut Rng) -> Duration {
        let (u, v) = (rng.unit_open(), rng.unit());
        let delay = match &self.delays {
            Delays::Uniform { least, most } => *least + most.saturating_sub(*least).mul_f64(v),
            Delays::Normal { mean, deviation } => {
                // The Box-Muller transform; negative delays are cut.
                let normal = libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * std::f64::consts::PI * v);
                Duration::from_secs_f64(mean + deviation * normal)
            }
            Delays::Pareto { scale, shape } => Duration::from_secs_f64(scale * libm::pow(u, -1.0 / shape)),
            Delays::Points(cdf) => Duration::from_secs_f64(cdf.quantile(v) / 1e3),
        };
        delay.min(LONGEST)
    }
}

/// Keys of jitter.
pub(crate) const JITTER: Declaration = Declaration {
    kind: "element",
    name: "jitter",
    about: "Adds a random delay to each packet on the wire, independently of the others: of one of the \
            distributions, or of the one in a `file` with a delay in milliseconds and the probability of \
            delays up to it on each line, or in `points`, a list of such pairs.",
    source: "`delay` of tc-netem(8)",
    params: &[
        Param::choice(
            "distribution",
            "normal",
            &["uniform", "normal", "pareto"],
            "distribution of the delays",
        ),
        Param::duration(
            "mean",
            Duration::from_millis(5),
            Duration::ZERO..=Duration::from_secs(600),
            "mean of the delays",
        ),
        Param::duration(
            "deviation",
            Duration::from_millis(2),
            Duration::ZERO..=Duration::from_secs(600),
            "standard deviation, uniform and normal; what would be negative is cut to 0, which raises the \
             mean",
        ),
        Param::ratio(
            "shape",
            3.0,
            1.01..=100.0,
            "shape of the Pareto distribution; the tail is heavy below 2",
        ),
        Param::flag(
            "reorder",
            false,
            "whether packets overtake others; otherwise each arrives no earlier than those before it",
        ),
    ],
};
