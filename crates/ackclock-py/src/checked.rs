//! Checks of the values given to Python's constructors, before they are part of a scenario.

use ackclock_engine::Stack;
use ackclock_policy::{Declaration, Param};
use ackclock_sim::scenario;
use pyo3::prelude::*;

use crate::error::PolicyError;
use crate::registry::registry;

/// The declarations of everything with parameters that a scenario can name.
pub fn declared() -> Vec<Declaration> {
    let mut declared = registry().declarations();
    declared.extend(ackclock_sim::fault::declarations());
    declared.extend(ackclock_sim::element_declarations());
    declared.extend(ackclock_sim::workload::declarations());
    declared
}

/// Rejects a value that no scenario accepts for the parameter `param` of the policy `name` of that `kind`.
/// The kinds `link` and `flows` are the keys of links and of flows, with an empty name. Raises `PolicyError`.
#[pyfunction]
pub fn check_value(kind: &str, name: &str, param: &str, text: &str) -> PyResult<()> {
    let params: &[Param] = match kind {
        "link" => scenario::LINK,
        "flows" => ackclock_sim::workload::FLOWS,
        _ => declared().iter().find(|d| (d.kind, d.name) == (kind, name)).map_or(&[], |d| d.params),
    };
    let Some(param) = params.iter().find(|p| p.name == param) else { return Ok(()) };
    let of = if name.is_empty() { String::new() } else { format!("`{name}`: ") };
    scenario::check_value(param, text).map_err(|e| PolicyError::new_err(format!("{of}{e}")))
}

/// Rejects a stack that no scenario accepts: `preset` (`sack` without one) with `settings`, keys such as
/// `recovery`, `recovery.careful` or `mss` with their values. Raises `PolicyError`.
#[pyfunction]
pub fn check_stack(preset: Option<&str>, settings: Vec<(String, String)>) -> PyResult<()> {
    let wrong = |e: ackclock_engine::StackError| PolicyError::new_err(e.to_string());
    let mut stack = Stack::named(registry(), preset.unwrap_or("sack")).map_err(wrong)?;
    settings.iter().try_for_each(|(key, value)| stack.set(key, value)).map_err(wrong)
}
