//! The congestion controllers of `quinn-proto`, as published, as windows in ackclock.
//!
//! [`window`] is the adapter: an ackclock policy that drives a `quinn_proto::congestion::Controller`. [`rtt`]
//! makes the round-trip time estimators that such a controller reads. With the feature `module` this is an
//! extension module that takes the place of `ackclock._core`, with three more windows.

pub mod packets;
pub mod rtt;
pub mod window;

/// Everything of ackclock, with quinn's controllers too.
#[cfg(feature = "module")]
#[pyo3::pymodule]
fn _core(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
    let mut registry = ackclock_policy::Registry::builtin();
    for entry in window::ENTRIES {
        registry.register(entry).map_err(|e| pyo3::exceptions::PyImportError::new_err(e.to_string()))?;
    }
    ackclock_py::fill_module(module, registry)
}
