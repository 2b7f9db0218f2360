//! The extension module `ackclock._core`: the bindings of `ackclock-py`, with the built-in policies.
//!
//! A crate with policies of its own has a module like this one, with its own registry.

use ackclock_policy::Registry;
use pyo3::prelude::*;

/// The compiled part of ackclock.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    ackclock_py::fill_module(module, Registry::builtin())
}
