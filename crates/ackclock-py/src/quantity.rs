//! Quantities with units, parsed as in scenario files.

use ackclock_units::{ParseQuantityError, parse_bytes, parse_duration, parse_rate, parse_ratio};
use pyo3::prelude::*;

use crate::error::InputError;

/// Parses `text` as a `time` (returned in seconds), a `rate` (bit/s), a `size` (bytes) or a `ratio`. Raises
/// `InputError` if it is none.
#[pyfunction]
pub fn quantity(kind: &str, text: &str) -> PyResult<f64> {
    let fail = |e: ParseQuantityError| InputError::new_err(e.to_string());
    match kind {
        "time" => Ok(parse_duration(text).map_err(fail)?.as_secs_f64()),
        "rate" => Ok(parse_rate(text).map_err(fail)?.bits_per_sec() as f64),
        "size" => Ok(parse_bytes(text).map_err(fail)? as f64),
        "ratio" => parse_ratio(text).map_err(fail),
        _ => Err(InputError::new_err(format!(
            "`{kind}` is not a kind of quantity; expected one of time, rate, size, ratio"
        ))),
    }
}
