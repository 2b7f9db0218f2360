//! The extension module `ackclock._core`: conversion and errors between the Rust rooms and the Python package. No logic lives here.

mod error;
mod policies;
mod quantity;
mod table;

use pyo3::prelude::*;

/// The compiled part of ackclock.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::policies::{backoff_schedule, policies};
    #[pymodule_export]
    use super::quantity::quantity;
    #[pymodule_export]
    use super::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        error::register(module)?;
        module.add("version", env!("CARGO_PKG_VERSION"))
    }
}
