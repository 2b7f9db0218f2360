//! Resolved scenarios and the declarations of tables as data, so that Python need not parse their text.

use std::path::PathBuf;

use ackclock_sim::scenario::Body;
use ackclock_trace::{Column, TABLES};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::SimulationError;
use crate::simulate::read;

/// The resolved scenario as dictionaries, lists and values, with the keys of [`resolve`] in its order. Raises
/// `ScenarioError`.
///
/// [`resolve`]: crate::simulate::resolve
#[pyfunction]
#[pyo3(signature = (text, overrides, name, folder, anywhere = false))]
pub fn resolve_tree<'py>(
    py: Python<'py>,
    text: &str,
    overrides: Vec<(String, String)>,
    name: &str,
    folder: Option<PathBuf>,
    anywhere: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let written = read(text, &overrides, name, folder.as_deref(), anywhere)?.to_toml();
    let parsed = DeTable::parse(&written);
    let parsed = parsed.map_err(|e| SimulationError::new_err(format!("a resolved scenario is no TOML: {e}")));
    table(py, parsed?.get_ref())
}

/// The resolved scenario as TOML, once for each of `seeds` with that seed alone; without `seeds`, for each of
/// its own. Raises `ScenarioError`.
#[pyfunction]
#[pyo3(signature = (text, overrides, name, folder, seeds, anywhere = false))]
pub fn resolve_seeds(
    text: &str,
    overrides: Vec<(String, String)>,
    name: &str,
    folder: Option<PathBuf>,
    seeds: Option<Vec<u64>>,
    anywhere: bool,
) -> PyResult<Vec<(u64, String)>> {
    let mut resolved = read(text, &overrides, name, folder.as_deref(), anywhere)?;
    let seeds = seeds.unwrap_or_else(|| resolved.seeds.clone());
    let alone = |seed| {
        resolved.seeds = vec![seed];
        (seed, resolved.to_toml())
    };
    Ok(seeds.into_iter().map(alone).collect())
}

/// The load of each workload of kind `web`: name, flows per second, mean bytes of a flow. Raises
/// `ScenarioError`.
#[pyfunction]
#[pyo3(signature = (text, overrides, name, folder, anywhere = false))]
pub fn expected_arrivals(
    text: &str,
    overrides: Vec<(String, String)>,
    name: &str,
    folder: Option<PathBuf>,
    anywhere: bool,
) -> PyResult<Vec<(String, f64, f64)>> {
    let resolved = read(text, &overrides, name, folder.as_deref(), anywhere)?;
    let arrivals = resolved.workloads.iter().filter_map(|w| match &w.body {
        Body::Web(web) => Some((w.name.clone(), web.params.ratio("arrival_rate"), web.sizes.mean())),
        _ => None,
    });
    Ok(arrivals.collect())
}

/// The declarations of all tables: `name`, `about`, and `columns` with name, unit, meaning and `optional`,
/// whether a row may have no value. A JSON list.
#[pyfunction]
pub fn tables() -> String {
    let column = |c: &Column| json!({ "name": c.name, "optional": c.optional, "unit": c.unit, "meaning": c.meaning.trim() });
    let tables = TABLES.iter().map(|t| {
        let columns = Value::from_iter(t.columns.iter().map(column));
        json!({ "name": t.name, "about": t.about.trim(), "columns": columns })
    });
    Value::from_iter(tables).to_string()
}

fn table<'py>(py: Python<'py>, entries: &DeTable<'_>) -> PyResult<Bound<'py, PyDict>> {
    // The parser sorts by name, but stacks are shown in the order of the file.
    let mut written: Vec<_> = entries.iter().collect();
    written.sort_by_key(|(key, _)| key.span().start);
    let out = PyDict::new(py);
    for (key, item) in written {
        out.set_item(key.get_ref().as_ref(), value(py, item)?)?;
    }
    Ok(out)
}

fn value<'py>(py: Python<'py>, item: &Spanned<DeValue<'_>>) -> PyResult<Bound<'py, PyAny>> {
    let number =
        |text: &str| SimulationError::new_err(format!("`{text}` in a resolved scenario is no number"));
    Ok(match item.get_ref() {
        DeValue::String(text) => text.as_ref().into_pyobject(py)?.into_any(),
        DeValue::Integer(n) => {
            let n = i64::from_str_radix(n.as_str(), n.radix()).map_err(|_| number(n.as_str()))?;
            n.into_pyobject(py)?.into_any()
        }
        DeValue::Float(x) => {
            let x: f64 = x.as_str().parse().map_err(|_| number(x.as_str()))?;
            x.into_pyobject(py)?.into_any()
        }
        DeValue::Boolean(b) => b.into_pyobject(py)?.to_owned().into_any(),
        DeValue::Datetime(d) => return Err(number(&d.to_string())),
        DeValue::Array(items) => {
            let items: Vec<_> = items.iter().map(|i| value(py, i)).collect::<PyResult<_>>()?;
            PyList::new(py, items)?.into_any()
        }
        DeValue::Table(entries) => table(py, entries)?.into_any(),
    })
}
