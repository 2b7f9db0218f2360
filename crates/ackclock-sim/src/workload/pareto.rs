/// A Pareto distribution cut off on both sides: on `[min, max]`, with density proportional to `x^-(shape+1)`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BoundedPareto {
    shape: f64,
    min: f64,
    max: f64,
    /// `(min/max)^shape`.
    cut: f64,
}

impl BoundedPareto {
    /// The distribution on `[min, max]`; `None` unless `0 < min < max` and the shape is positive.
    pub fn new(shape: f64, min: f64, max: f64) -> Option<Self> {
        (shape > 0.0 && min > 0.0 && min < max && max.is_finite()).then(|| Self {
            shape,
            min,
            max,
            cut: libm::pow(min / max, shape),
        })
    }

    /// The distribution with upper bound `max` and this mean; `None` when there is none.
    pub fn with_mean(shape: f64, mean: f64, max: f64) -> Option<Self> {
        let (mut low, mut high) = (max * 1e-15, max);
        if !(mean > Self::new(shape, low, max)?.mean() && mean < max) {
            return None;
        }
        // The mean grows with the lower bound: bisect until the floats are adjacent.
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                return Self::new(shape, low, max);
            }
            if Self::new(shape, middle, max)?.mean() < mean { low = middle } else { high = middle }
        }
    }

    /// Its lower bound.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// Its mean.
    pub fn mean(&self) -> f64 {
        self.mean_below(self.max)
    }

    /// P(X <= x).
    pub fn below(&self, x: f64) -> f64 {
        let x = x.clamp(self.min, self.max);
        (1.0 - libm::pow(self.min / x, self.shape)) / (1.0 - self.cut)
    }

    /// E[X; X <= x].
    pub fn mean_below(&self, x: f64) -> f64 {
        let ratio = self.min / x.clamp(self.min, self.max);
        let a = self.shape;
        // The integral of a min^a x^-a, which is a logarithm for shape 1.
        let integral = if (a - 1.0).abs() < 1e-12 {
            -libm::log(ratio)
        } else {
            a / (a - 1.0) * (1.0 - libm::pow(ratio, a - 1.0))
        };
        self.min * integral / (1.0 - self.cut)
    }

    /// The value below which a share `u` of the distribution lies, for `u` in `[0, 1]`.
    pub fn quantile(&self, u: f64) -> f64 {
        (self.min * libm::pow(1.0 - u * (1.0 - self.cut), -1.0 / self.shape)).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_7000_begins_at_the_bytes_of_the_register() {
        // B-A7: k = 1237.61.
        let p = BoundedPareto::with_mean(1.2, 7000.0, 2e9).unwrap();
        assert!((p.min() - 1237.61).abs() < 0.005, "{}", p.min());
        assert!((p.mean() - 7000.0).abs() < 1e-6);
    }

    #[test]
    fn quantiles_invert_the_distribution() {
        let p = BoundedPareto::new(1.5, 10.0, 1e6).unwrap();
        for u in [0.0, 0.1, 0.5, 0.99, 0.999_999] {
            assert!((p.below(p.quantile(u)) - u).abs() < 1e-12);
        }
        assert!(p.quantile(0.0) == 10.0 && (p.quantile(1.0) / 1e6 - 1.0).abs() < 1e-8);
    }

    #[test]
    fn a_shape_of_one_is_no_exception() {
        let near = BoundedPareto::new(1.0 + 1e-9, 1.0, 100.0).unwrap();
        let at = BoundedPareto::new(1.0, 1.0, 100.0).unwrap();
        assert!((near.mean() - at.mean()).abs() < 1e-6);
    }

    #[test]
    fn impossible_ones_are_refused() {
        assert_eq!(BoundedPareto::new(1.2, 10.0, 10.0), None);
        assert_eq!(BoundedPareto::new(1.2, 0.0, 10.0), None);
        assert_eq!(BoundedPareto::with_mean(1.2, 20.0, 10.0), None);
    }
}
