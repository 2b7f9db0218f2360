//! Whole numbers of 128 bits and floats side by side, exactly as Python has them.

use std::cmp::Ordering;

/// A number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    pub fn float(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Float(x) => x,
        }
    }

    /// The order of two numbers as if both were exact; `None` with a NaN.
    pub fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Int(a), Self::Float(b)) => order_mixed(a, b),
            (Self::Float(a), Self::Int(b)) => order_mixed(b, a).map(Ordering::reverse),
        }
    }
}

fn order_mixed(n: i128, x: f64) -> Option<Ordering> {
    if x.is_nan() {
        return None;
    }
    Some(match to_int(x) {
        None if x > 0.0 => Ordering::Less,
        None => Ordering::Greater,
        Some(whole) => n.cmp(&whole).then_with(|| x.trunc().total_cmp(&x)),
    })
}

/// A float without its fraction; `None` if it is too large or no number.
pub(super) fn to_int(x: f64) -> Option<i128> {
    // Both bounds are powers of two, thus exact.
    let bound = 2_f64.powi(127);
    (x >= -bound && x < bound).then_some(x as i128)
}

/// `a / b` rounded once, `b` not 0.
pub(super) fn quotient(a: i128, b: i128) -> f64 {
    let exact = |n: i128| n.unsigned_abs() <= 1 << 53;
    if exact(a) && exact(b) {
        return a as f64 / b as f64;
    }
    let (dividend, divisor) = (a.unsigned_abs(), b.unsigned_abs());
    let mut quotient = dividend / divisor;
    let mut rest = dividend % divisor;
    let mut halvings = 0;
    // Two bits more than a float has, and one for all that follow, decide the rounding.
    while quotient >> 55 == 0 && rest != 0 && halvings < 256 {
        rest *= 2;
        quotient = quotient * 2 + rest / divisor;
        rest %= divisor;
        halvings += 1;
    }
    let magnitude = (quotient | u128::from(rest != 0)) as f64 / 2_f64.powi(halvings);
    if (a < 0) == (b < 0) { magnitude } else { -magnitude }
}

/// The shortest text that reads as the same float, as Python writes it.
pub(super) fn float_text(x: f64) -> String {
    if !x.is_finite() {
        return if x.is_nan() {
            "nan"
        } else if x > 0.0 {
            "inf"
        } else {
            "-inf"
        }
        .to_owned();
    }
    let scientific = format!("{x:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(-4..16) => format!("{x:?}").replace("e0", ""),
        Ok(e) => format!("{digits}e{}{:02}", if e < 0 { '-' } else { '+' }, e.abs()),
        Err(_) => scientific,
    }
}
