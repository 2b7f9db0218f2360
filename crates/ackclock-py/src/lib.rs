//! The extension module `ackclock._core`: conversion and errors between the Rust rooms and the Python package. No logic lives here.

use pyo3::prelude::*;

/// The compiled part of ackclock.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("version", env!("CARGO_PKG_VERSION"))
    }
}
