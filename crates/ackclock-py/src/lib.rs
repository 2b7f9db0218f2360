//! The extension module `ackclock._core`: conversion and errors between the Rust rooms and the Python
//! package. No logic lives here.

mod capture;
mod capture_json;
mod checked;
mod declarations;
#[cfg(target_os = "linux")]
mod download;
mod error;
#[cfg(target_os = "linux")]
mod kernels;
mod probe;
mod quantity;
mod resolved;
mod simulate;
mod table;
mod timers;

use pyo3::prelude::*;

/// The compiled part of ackclock.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::capture::{Captured, gap_timeouts, read_capture};
    #[pymodule_export]
    use super::checked::{check_stack, check_value};
    #[pymodule_export]
    use super::declarations::{backoff_schedule, declarations, rate_intervals, tables_reference};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::download::download_demo;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::kernels::{emulated_flows, kernel_transfer, kernel_web};
    #[pymodule_export]
    use super::probe::probe_simulated;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::probe::{probe, probe_emulated};
    #[pymodule_export]
    use super::quantity::quantity;
    #[pymodule_export]
    use super::resolved::{expected_arrivals, resolve_seeds, resolve_tree, tables};
    #[pymodule_export]
    use super::simulate::{Result, expected_events, resolve, simulate};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::timers::{TimerReplay, timer_rows, timer_steps};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        error::register(module)?;
        module.add("version", env!("CARGO_PKG_VERSION"))
    }
}
