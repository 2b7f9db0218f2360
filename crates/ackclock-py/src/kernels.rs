//! A transfer of the kernel's own TCP over an emulated path.

use std::ops::ControlFlow;
use std::path::PathBuf;

use ackclock_drive::{Capture, Clock, KernelTransfer, Kernels, KernelsOptions, Means};
use ackclock_units::Duration;
use pyo3::prelude::*;
use serde_json::json;

use crate::probe::{counters, links};

/// Sends for so many seconds from one kernel to another, in namespaces of their own, over the link and the way back of the scenario `path`, and captures
/// beside the sender. `parameters` are set in both kernels first. Answers what the kernel counted, as JSON. To be called in a process with one thread,
/// which may be moved into a user namespace. Raises `MissingRightError` where the system allows no such thing.
#[pyfunction]
pub fn kernel_transfer(py: Python<'_>, path: &str, seconds: f64, parameters: Vec<(String, String)>, capture: PathBuf) -> PyResult<String> {
    let ((there, back), seed) = links(path)?;
    let transfer = KernelTransfer { duration: Duration::from_secs_f64(seconds), parameters };
    let mut stopped_by = None;
    let mut go_on = || {
        Python::attach(|py| match py.check_signals() {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                stopped_by = Some(e);
                ControlFlow::Break(())
            }
        })
    };
    let found = py.detach(|| {
        if ackclock_drive::check()? == Means::UserNamespace {
            ackclock_drive::enter_user_namespace()?;
        }
        let clock = Clock::start();
        let capture = Capture::create(&capture, clock)?;
        let kernels = Kernels::new(KernelsOptions { mtu: 1500, there, back, seed, clock, capture: Some(capture.clone()) })?;
        let found = transfer.run(kernels, &mut go_on)?;
        capture.finish()?;
        Ok(found)
    });
    if let Some(e) = stopped_by {
        return Err(e);
    }
    let found = found.map_err(crate::error::drive)?;
    Ok(json!({
        "retransmitted": found.retransmitted,
        "timeouts": found.timeouts,
        "received": found.received,
        "late": found.path.late,
        "path": { "forward": counters(&found.path.forward), "backward": counters(&found.path.backward) },
    })
    .to_string())
}
