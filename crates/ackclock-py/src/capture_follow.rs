//! Captures that are still being written.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant as Wall};

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, Glance, Options, Selection};
use ackclock_units::Duration as Span;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::capture::{Captured, captured};
use crate::error::{InputError, SimulationError};

/// How often signals are looked for.
const OFTEN: Duration = Duration::from_millis(100);

/// Analyses the capture at `path` (`-` for standard input) while it is being written, until it ends or
/// Ctrl-C is pressed, which is no error. `show` is called every `interval` seconds with the `most`
/// connections of which packets came last, as JSON. `flow` selects connections of the result. Raises
/// `InputError`.
#[pyfunction]
#[pyo3(signature = (path, show, interval = 1.0, most = 100, flow = None))]
pub fn follow_capture(
    py: Python<'_>,
    path: PathBuf,
    show: Py<PyAny>,
    interval: f64,
    most: usize,
    flow: Option<&str>,
) -> PyResult<Captured> {
    let flow = flow.map(Selection::parse).transpose().map_err(InputError::new_err)?;
    let interval = Duration::try_from_secs_f64(interval).map_err(|_| {
        InputError::new_err(format!("`interval` is {interval}; expected a time of 0 s or more"))
    })?;
    let (name, mut shown, mut failed) = (path.display().to_string(), Wall::now(), None);
    let look = |so_far: &Analysis| {
        Python::attach(|py| {
            if py.check_signals().is_err() {
                return ControlFlow::Break(());
            }
            if shown.elapsed() < interval {
                return ControlFlow::Continue(());
            }
            shown = Wall::now();
            match show.call1(py, (at_a_glance(so_far, most).to_string(),)) {
                Ok(_) => ControlFlow::Continue(()),
                Err(e) if e.is_instance_of::<PyKeyboardInterrupt>(py) => ControlFlow::Break(()),
                Err(e) => {
                    failed = Some(e);
                    ControlFlow::Break(())
                }
            }
        })
    };
    let report = py.detach(|| {
        catch_unwind(AssertUnwindSafe(|| {
            let mut analysis = Analysis::new(Options::default());
            analysis.follow(move || Packets::new(open(&path)?), OFTEN.min(interval.max(OFTEN / 10)), look)?;
            Ok(analysis.finish())
        }))
    });
    // Ctrl-C reaches the program that writes the capture too, whose end may have come first.
    let _ = py.check_signals();
    let report = report.map_err(|_| {
        SimulationError::new_err(
            "the analysis violated one of its own invariants (a panic); please report it with the capture",
        )
    })?;
    if let Some(e) = failed {
        return Err(e);
    }
    let report =
        report.map_err(|e: ackclock_capture::CaptureError| InputError::new_err(format!("{name}: {e}")))?;
    captured(py, report, &name, flow.as_ref(), &[])
}

fn at_a_glance(so_far: &Analysis, most: usize) -> Value {
    let (connections, replaced) = so_far.counted();
    json!({
        "connections": connections as u64 + replaced,
        "shown": Value::from_iter(so_far.glances(most).iter().map(one)),
    })
}

fn one(g: &Glance) -> Value {
    json!({
        "client": g.client.to_string(),
        "server": g.server.to_string(),
        "start": g.start.as_secs_f64(),
        "latest": g.latest.as_secs_f64(),
        "state": g.standing.word(),
        "packets": g.packets,
        "bytes": g.bytes,
        "retransmitted": g.retransmitted,
        "rtt": g.rtt.map(Span::as_secs_f64),
        "under_way": g.under_way,
        "closed": g.closed,
    })
}
