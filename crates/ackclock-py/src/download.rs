//! The download over real packets.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use ackclock_drive::{DemoOptions, DemoProgress, DemoReport, DriveError, Means, PolicyFactory};
use ackclock_engine::Stack;
use pyo3::prelude::*;
use serde_json::json;

use crate::error;
use crate::registry::registry;

/// Downloads a file from `python -m http.server` on the kernel's TCP through our engine, over an emulated
/// path, and returns the results, as JSON. Captures are written to `folder`. `progress` is called with the
/// share of the file received and a label. Must be called in a process with a single thread, which may be
/// moved into a user namespace. Raises `MissingRightError` if the system does not permit it.
#[pyfunction]
pub fn download_demo(
    py: Python<'_>,
    folder: PathBuf,
    python: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let mut stopped_by = None;
    let mut report_progress = |p: &DemoProgress| {
        Python::attach(|py| match py.check_signals().and_then(|()| call_progress(py, progress.as_ref(), p)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                stopped_by = Some(e);
                ControlFlow::Break(())
            }
        })
    };
    let report = py.detach(|| run(folder, python, &mut report_progress));
    match stopped_by {
        Some(e) => Err(e),
        None => report.map(|r| describe(&r)).map_err(error::drive),
    }
}

fn run(
    folder: PathBuf,
    python: PathBuf,
    report_progress: &mut dyn FnMut(&DemoProgress) -> ControlFlow<()>,
) -> Result<DemoReport, DriveError> {
    if ackclock_drive::check()? == Means::UserNamespace {
        ackclock_drive::enter_user_namespace()?;
    }
    let stack = Stack::named(registry(), "sack").map_err(|e| DriveError::Input(e.to_string()))?;
    let config = stack.config();
    let policies: PolicyFactory = Arc::new(move || stack.build());
    let options = DemoOptions { python, captures: Some(folder), ..DemoOptions::new(config, policies) };
    ackclock_drive::download_demo(&options, report_progress)
}

fn call_progress(py: Python<'_>, progress: Option<&Py<PyAny>>, p: &DemoProgress) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    progress.call1(py, (p.received as f64 / p.of.max(1) as f64, "downloading"))?;
    Ok(())
}

fn describe(r: &DemoReport) -> String {
    let lost = r.path.forward.fault_drops + r.path.backward.fault_drops;
    json!({
        "bytes": r.bytes,
        "sha256": r.sha256,
        "seconds": r.duration.as_secs_f64(),
        "goodput": r.goodput.bits_per_sec(),
        "congestion_control": r.kernel_congestion_control,
        "retransmissions": r.kernel_retransmissions,
        "timeouts": r.kernel_timeouts,
        "engine": {
            "segments_sent": r.engine.segments_sent,
            "segments_received": r.engine.segments_received,
            "retransmissions": r.engine.retransmitted_segments,
            "timeouts": r.engine.timeouts,
            "duplicate_segments": r.engine.duplicate_segments,
        },
        "path": { "delivered": r.path.delivered, "lost": lost, "undelivered": r.path.undelivered, "late": r.path.late },
        "captures": r.captures,
    })
    .to_string()
}
