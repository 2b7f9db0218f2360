use std::fmt;

/// Largest number of points of a distribution function, which bounds the memory of a hostile file.
const MOST_POINTS: usize = 100_000;

/// A distribution function given as points, with linear interpolation between them.
#[derive(Clone, PartialEq, Debug)]
pub struct Cdf {
    /// Value, and the probability of values up to it; both ascending, the last probability 1.
    points: Vec<(f64, f64)>,
}

/// Why a list of points is not a distribution function.
#[derive(Clone, PartialEq, Debug)]
pub struct CdfError(String);

impl fmt::Display for CdfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CdfError {}

impl Cdf {
    /// A function from points `(value, probability)`. No value is smaller than the first; the first
    /// probability is that of the first value itself.
    ///
    /// # Errors
    /// When a value or a probability falls, is negative or not a number, or the last probability is not 1.
    pub fn new(points: Vec<(f64, f64)>) -> Result<Self, CdfError> {
        let err = |text: String| Err(CdfError(text));
        let Some(&(_, last)) = points.last() else {
            return err("a distribution function needs at least one point, a value and the probability of \
                        values up to it"
                .to_owned());
        };
        if points.len() > MOST_POINTS {
            return err(format!(
                "a distribution function may have {MOST_POINTS} points, and {} are given",
                points.len()
            ));
        }
        let mut before = (0.0, 0.0);
        for (n, &(x, p)) in (1..).zip(&points) {
            if !(x.is_finite() && x >= before.0 && p >= before.1 && p <= 1.0) {
                let (x0, p0) = before;
                return err(format!(
                    "point {n} is ({x}, {p}), but values and probabilities must not fall (the one before is \
                     ({x0}, {p0})) nor exceed 1"
                ));
            }
            before = (x, p);
        }
        if last != 1.0 {
            return err(format!("the last probability is {last}, but it must be 1"));
        }
        // Without the sign of -0.
        Ok(Self { points: points.into_iter().map(|(x, p)| (x + 0.0, p + 0.0)).collect() })
    }

    /// Reads one point on each line: a value and a probability, separated by blanks, a comma or a semicolon;
    /// `#` begins a comment.
    ///
    /// # Errors
    /// As [`Cdf::new`], and for a line of any other form.
    pub fn parse(text: &str) -> Result<Self, CdfError> {
        let mut points = Vec::new();
        for (n, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default();
            let fields: Vec<_> = line
                .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
                .filter(|f| !f.is_empty())
                .collect();
            let point = match fields.as_slice() {
                [] => continue,
                [x, p] => x.parse().ok().zip(p.parse().ok()),
                _ => None,
            };
            let Some(point) = point else {
                return Err(CdfError(format!(
                    "line {n} is not a value and a probability such as `1460 0.5`"
                )));
            };
            if points.len() > MOST_POINTS {
                break;
            }
            points.push(point);
        }
        Self::new(points)
    }

    /// Its points.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The value below which a share `u` lies.
    pub fn quantile(&self, u: f64) -> f64 {
        let i = self.points.partition_point(|(_, p)| *p < u);
        let (x1, p1) = self.points[i.min(self.points.len() - 1)];
        if i == 0 {
            return x1;
        }
        let (x0, p0) = self.points[i - 1];
        if p1 > p0 { x0 + (x1 - x0) * (u - p0) / (p1 - p0) } else { x1 }
    }

    /// P(X <= x).
    pub fn below(&self, x: f64) -> f64 {
        let i = self.points.partition_point(|(v, _)| *v <= x);
        match (i.checked_sub(1).map(|j| self.points[j]), self.points.get(i)) {
            (None, _) => 0.0,
            (Some((_, p)), None) => p,
            (Some((x0, p0)), Some(&(x1, p1))) => p0 + (p1 - p0) * (x - x0) / (x1 - x0),
        }
    }

    /// E[X; X <= x].
    pub fn mean_below(&self, x: f64) -> f64 {
        let (first, p) = self.points[0];
        let mut sum = if first <= x { first * p } else { 0.0 };
        for pair in self.points.windows(2) {
            let ((x0, p0), (x1, p1)) = (pair[0], pair[1]);
            if x0 > x {
                break;
            }
            // A vertical step has all of its weight at its value; between two values the density is constant.
            let (end, share) = if x >= x1 { (x1, p1 - p0) } else { (x, (p1 - p0) * (x - x0) / (x1 - x0)) };
            sum += share * 0.5 * (x0 + end);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# value probability\n100 0.5\n1000, 0.75\n\n3000; 1 # the largest\n";

    #[test]
    fn a_file_of_points_is_a_distribution() {
        let cdf = Cdf::parse(FILE).unwrap();
        assert_eq!(cdf.points(), [(100.0, 0.5), (1000.0, 0.75), (3000.0, 1.0)]);
        for (u, x) in [(0.0, 100.0), (0.5, 100.0), (0.625, 550.0), (0.75, 1000.0), (1.0, 3000.0)] {
            assert_eq!(cdf.quantile(u), x, "at {u}");
        }
        for (x, p) in [(99.0, 0.0), (100.0, 0.5), (550.0, 0.625), (3000.0, 1.0), (9e9, 1.0)] {
            assert_eq!(cdf.below(x), p, "up to {x}");
        }
        // Half of the weight at 100, a quarter each at 550 and 2000 on average.
        assert_eq!(cdf.mean_below(f64::INFINITY), 50.0 + 137.5 + 500.0);
        assert_eq!(cdf.mean_below(550.0), 50.0 + 0.125 * 325.0);
    }

    #[test]
    fn broken_files_are_refused_with_the_place() {
        for (text, message) in [
            (
                "",
                "a distribution function needs at least one point, a value and the probability of values up \
                 to it",
            ),
            ("1 0.5\nx", "line 2 is not a value and a probability such as `1460 0.5`"),
            ("1 0.5", "the last probability is 0.5, but it must be 1"),
            (
                "5 0.5\n4 1",
                "point 2 is (4, 1), but values and probabilities must not fall (the one before is (5, 0.5)) \
                 nor exceed 1",
            ),
            (
                "-5 1",
                "point 1 is (-5, 1), but values and probabilities must not fall (the one before is (0, 0)) \
                 nor exceed 1",
            ),
            (
                "5 NaN",
                "point 1 is (5, NaN), but values and probabilities must not fall (the one before is (0, 0)) \
                 nor exceed 1",
            ),
        ] {
            assert_eq!(Cdf::parse(text).unwrap_err().to_string(), message);
        }
    }
}
