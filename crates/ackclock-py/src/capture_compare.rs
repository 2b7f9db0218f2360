//! Two captures of the same connections.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use ackclock_capture::compare::{Compared, Lost, Way, compare};
use ackclock_capture::{Options, Report, Selection};
use ackclock_units::Duration;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::capture::report;
use crate::error::{InputError, SimulationError};

/// The connections that two captures share, one at each end, as JSON: a list, empty if they share none.
/// `flow` selects connections of the first. Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (first, second, flow = None))]
pub fn compare_captures(
    py: Python<'_>,
    first: PathBuf,
    second: PathBuf,
    flow: Option<&str>,
) -> PyResult<String> {
    let flow = flow.map(Selection::parse).transpose().map_err(InputError::new_err)?;
    let read = |path: PathBuf, wanted: Option<Selection>| {
        let read = || report(&path, Options::default(), Some(wanted), |_| ControlFlow::Continue(()));
        read().map_err(|e| InputError::new_err(format!("{}: {e}", path.display())))
    };
    let found = py.detach(|| {
        catch_unwind(AssertUnwindSafe(|| -> PyResult<Value> {
            let (a, b) = (read(first, flow)?, read(second, None)?);
            Ok(Value::from_iter(compare(&a, &b).iter().map(|c| described(c, &a))))
        }))
    });
    let found = found.map_err(|_| {
        SimulationError::new_err(
            "the comparison violated one of its own invariants (a panic); please report it with the captures",
        )
    })?;
    found.map(|value| value.to_string())
}

fn described(c: &Compared, first: &Report) -> Value {
    let connection = &first.connections[c.numbers[0]];
    let seconds = |ns: i64| ns as f64 / 1e9;
    json!({
        "numbers": c.numbers,
        "client": connection.client.to_string(),
        "server": connection.server.to_string(),
        "near_client": c.near_client,
        "ahead": seconds(c.ahead),
        "drift": c.drift.map(seconds),
        "round_trip": c.round_trip.as_secs_f64(),
        "ways": c.ways.each_ref().map(way),
    })
}

fn way(w: &Way) -> Value {
    let seconds = |d: Option<Duration>| json!(d.map(Duration::as_secs_f64));
    json!({
        "data": w.data,
        "data_lost": w.data_lost,
        "acks": w.acks,
        "acks_lost": w.acks_lost,
        "unsent": w.unsent,
        "outside": w.outside,
        "delay": {
            "samples": w.delay.count(),
            "min": seconds(w.delay.min()),
            "p50": seconds(w.delay.quantile(0.5)),
            "p95": seconds(w.delay.quantile(0.95)),
            "max": seconds(w.delay.max()),
        },
        "lost": Value::from_iter(w.lost.iter().map(lost)),
    })
}

fn lost(l: &Lost) -> Value {
    json!({
        "t": l.at.as_secs_f64(),
        "frame": l.frame,
        "offset": l.offset,
        "len": l.len,
        "packets": l.packets,
        "again": l.again,
    })
}
