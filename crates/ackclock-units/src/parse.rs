use std::fmt;

use crate::{Bytes, Duration, Rate};

/// Why a quantity could not be parsed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseQuantityError {
    /// The text that was given.
    pub met: String,
    /// What it should have been, with examples.
    pub wanted: &'static str,
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}", self.met, self.wanted)
    }
}

impl std::error::Error for ParseQuantityError {}

const DURATION: &str = "a time: give a number with a unit, such as `10ms`, `1.5s`, `200us` or `2min`";
const RATE: &str = "a rate: give a number with a unit, such as `10Mbit/s`, `9.6kbit/s` or `1Gbit/s`";
const BYTES: &str = "a size: give a number with a unit, such as `1460B`, `64KiB`, `10kB` or `20MB`";
const RATIO: &str = "a ratio: give a number such as `0.01` or a percentage such as `1%`";

/// Splits `12.5ms` into the digits of its number and its unit; a sign or an exponent is refused.
fn split(text: &str) -> (String, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    (text[..end].replace('_', ""), text[end..].trim())
}

fn scaled(
    text: &str,
    wanted: &'static str,
    scale: impl Fn(&str) -> Option<f64>,
) -> Result<u64, ParseQuantityError> {
    let fail = || ParseQuantityError { met: text.to_owned(), wanted };
    let (digits, unit) = split(text);
    let scale = scale(unit).ok_or_else(fail)?;
    // All units are whole; whole numbers of them keep all digits.
    if let Some(value) = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(scale as u64)) {
        return if value < 18_000_000_000_000_000_000 { Ok(value) } else { Err(fail()) };
    }
    let value = digits.parse::<f64>().map_err(|_| fail())? * scale;
    if value < 1.8e19 { Ok((value + 0.5) as u64) } else { Err(fail()) }
}

/// Reads a time with its unit (`ns`, `us`, `ms`, `s`, `min`, `h`); a bare number is an error.
pub fn parse_duration(text: &str) -> Result<Duration, ParseQuantityError> {
    let ns = scaled(text, DURATION, |unit| {
        Some(match unit {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "min" => 60e9,
            "h" => 3600e9,
            _ => return None,
        })
    })?;
    Ok(Duration::from_nanos(ns))
}

/// Reads a rate with its unit (`bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s`, the `/s` optional); a bare number is an
/// error.
pub fn parse_rate(text: &str) -> Result<Rate, ParseQuantityError> {
    let bits = scaled(text, RATE, |unit| {
        Some(match unit.strip_suffix("/s").unwrap_or(unit) {
            "bit" => 1.0,
            "kbit" => 1e3,
            "Mbit" => 1e6,
            "Gbit" => 1e9,
            "Tbit" => 1e12,
            _ => return None,
        })
    })?;
    Ok(Rate::from_bits_per_sec(bits))
}

/// Reads a size with its unit (`B`, `kB`, `MB`, `GB` in thousands; `KiB`, `MiB`, `GiB` in 1024s); a bare
/// number is an error.
pub fn parse_bytes(text: &str) -> Result<Bytes, ParseQuantityError> {
    scaled(text, BYTES, |unit| {
        Some(match unit {
            "B" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "TB" => 1e12,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return None,
        })
    })
}

/// Reads a ratio: a plain number, or a percentage.
pub fn parse_ratio(text: &str) -> Result<f64, ParseQuantityError> {
    let fail = || ParseQuantityError { met: text.to_owned(), wanted: RATIO };
    let trimmed = text.trim();
    let (number, scale) = match trimmed.strip_suffix('%') {
        Some(percent) => (percent.trim(), 0.01),
        None => (trimmed, 1.0),
    };
    let value: f64 = number.parse().map_err(|_| fail())?;
    // Without the sign of -0.
    if value.is_finite() { Ok(value * scale + 0.0) } else { Err(fail()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_carry_units() {
        assert_eq!(parse_duration("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse_duration("1.5 s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_rate("10Mbit/s"), Ok(Rate::from_bits_per_sec(10_000_000)));
        assert_eq!(parse_rate("9.6kbit"), Ok(Rate::from_bits_per_sec(9600)));
        assert_eq!(parse_bytes("64KiB"), Ok(65536));
        assert_eq!(parse_ratio("1%"), Ok(0.01));
        assert!(parse_ratio("-0.00").is_ok_and(f64::is_sign_positive));
    }

    #[test]
    fn bare_and_broken_numbers_are_refused() {
        for text in ["10", "-1ms", "ms", "", "1e3s", "10 m", "99999999999h"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert!(parse_rate("-5Mbit/s").is_err());
        assert!(parse_bytes("12").is_err());
        assert!(parse_ratio("NaN").is_err() && parse_ratio("x%").is_err());
        assert_eq!(
            parse_duration("10").unwrap_err().to_string(),
            "`10` is not a time: give a number with a unit, such as `10ms`, `1.5s`, `200us` or `2min`"
        );
    }

    #[test]
    fn quantities_are_the_same_after_writing_and_parsing() {
        for ns in [0, 1, 1_500, 2_000_000, 61_000_000_000, 74_556_433_999_999_997] {
            let d = Duration::from_nanos(ns);
            assert_eq!(parse_duration(&d.to_string()), Ok(d));
        }
        for bits in [1, 9_600, 230_400, 10_000_000, 10_000_000_000] {
            let r = Rate::from_bits_per_sec(bits);
            assert_eq!(parse_rate(&r.to_string()), Ok(r));
        }
    }
}
