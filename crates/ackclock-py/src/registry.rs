//! The registry of the process. Python functions take no registry as an argument, so this is the only global
//! value of the crate.

use std::sync::OnceLock;

use ackclock_policy::Registry;
use pyo3::PyResult;
use pyo3::exceptions::PyImportError;

static REGISTRY: OnceLock<Registry> = OnceLock::new();

/// Sets the registry before anything else of the module can be called. A second call must bring the same
/// policies: it is made when Python imports the module anew.
pub fn set(registry: Registry) -> PyResult<()> {
    let declarations = registry.declarations();
    if REGISTRY.get_or_init(|| registry).declarations() == declarations {
        Ok(())
    } else {
        Err(PyImportError::new_err("ackclock._core was loaded before in this process, with other policies"))
    }
}

/// The registry of this process.
pub fn registry() -> &'static Registry {
    REGISTRY.get_or_init(Registry::builtin)
}
