//! An extension module `ackclock._core` of an outside crate: the bindings, the built-in policies, and a window,
//! a slow start and an estimator of its own. `tests/test_outside.py` builds it and runs commands with it.

#[path = "../../../ackclock-sim/tests/outside/delay_exit.rs"]
mod delay_exit;
mod doubled;
#[path = "../../../ackclock-sim/tests/outside/paced.rs"]
mod paced;

use ackclock_policy::{Registry, RegistryError};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

fn registry() -> Result<Registry, RegistryError> {
    let mut registry = Registry::builtin();
    registry.register(&paced::ENTRY)?;
    registry.register(&delay_exit::ENTRY)?;
    registry.register(&doubled::ENTRY)?;
    Ok(registry)
}

/// Everything of ackclock, with these policies too.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let registry = registry().map_err(|e| PyImportError::new_err(e.to_string()))?;
    ackclock_py::fill_module(module, registry)
}
