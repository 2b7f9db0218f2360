//! The Python bindings: conversion and errors between the Rust rooms and the Python package. No logic lives
//! here.
//!
//! This is a library. The extension module `ackclock._core` is a cdylib that calls [`fill_module`], with the
//! built-in policies in `ackclock-module`, or in a crate of your own with yours as well:
//!
//! ```ignore
//! #[pymodule]
//! fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
//!     let mut registry = Registry::builtin();
//!     registry.register(&my_window::ENTRY).expect("no built-in window has this name");
//!     ackclock_py::fill_module(module, registry)
//! }
//! ```

mod capture;
mod capture_compare;
mod capture_follow;
mod capture_json;
mod checked;
mod declarations;
mod differ;
#[cfg(target_os = "linux")]
mod download;
mod error;
#[cfg(target_os = "linux")]
mod kernels;
#[cfg(target_os = "linux")]
mod link;
mod probe;
mod quantity;
mod registry;
mod resolved;
mod script;
mod sender;
mod simulate;
mod table;
#[cfg(target_os = "linux")]
mod testbed;
mod timers;

use ackclock_policy::Registry;
use pyo3::prelude::*;
use pyo3::wrap_pyfunction;

/// Exports every class, function and exception of the bindings from `module`, which Python must load as
/// `ackclock._core`. All of them use the policies of `registry`, for as long as the process lives.
///
/// # Errors
/// An `ImportError` if an earlier call in this process had a registry with other policies; an error of
/// Python's if something cannot be added to the module.
pub fn fill_module(module: &Bound<'_, PyModule>, registry: Registry) -> PyResult<()> {
    registry::set(registry)?;
    error::register(module)?;
    module.add("version", env!("CARGO_PKG_VERSION"))?;

    module.add_class::<capture::Captured>()?;
    module.add_class::<simulate::Result>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<timers::TimerReplay>()?;

    macro_rules! add_functions {
        ($($function:path),* $(,)?) => {
            $(module.add_function(wrap_pyfunction!($function, module)?)?;)*
        };
    }
    add_functions!(
        capture::gap_timeouts,
        capture::read_capture,
        capture_compare::compare_captures,
        capture_follow::follow_capture,
        checked::check_stack,
        checked::check_value,
        declarations::backoff_schedule,
        declarations::declarations,
        declarations::rate_intervals,
        declarations::tables_reference,
        differ::differ_scripts,
        probe::probe_simulated,
        quantity::quantity,
        resolved::expected_arrivals,
        resolved::resolve_seeds,
        resolved::resolve_tree,
        resolved::tables,
        script::run_script,
        script::script_dialects,
        script::script_ip_versions,
        sender::name_sender,
        simulate::expected_events,
        simulate::resolve,
        simulate::simulate,
        timers::timer_rows,
        timers::timer_steps,
    );
    #[cfg(target_os = "linux")]
    add_functions!(
        download::download_demo,
        kernels::emulated_flows,
        kernels::kernel_transfer,
        kernels::kernel_web,
        link::link,
        probe::probe,
        probe::probe_emulated,
        testbed::check_testbed_scenario,
        testbed::testbed,
    );
    Ok(())
}
