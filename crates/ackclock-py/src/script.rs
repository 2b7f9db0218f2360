//! Scripted tests in virtual time.

use std::path::PathBuf;

use ackclock_script::{DIALECTS, EngineHost, Line, Outcome, in_folder, parse};
use ackclock_units::Duration;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::{InputError, PolicyError};
use crate::registry::registry;

/// Runs the script `text`, which errors call `name`, and returns how it went as JSON. `folder`: where files
/// that its commands name are looked for. `defines`: words with what they stand for. `tolerance`: ns, or the
/// script's own. Raises `InputError` where the text is no script, `PolicyError` where the stack or a
/// setting is not known.
#[pyfunction]
#[pyo3(signature = (name, text, folder, dialect = "linux", stack = None, tolerance = None, seed = 1, defines = vec![]))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub fn run_script(
    py: Python<'_>,
    name: &str,
    text: &str,
    folder: PathBuf,
    dialect: &str,
    stack: Option<String>,
    tolerance: Option<u64>,
    seed: u64,
    defines: Vec<(String, String)>,
) -> PyResult<String> {
    let Some((_, dialect)) = DIALECTS.iter().find(|(known, _)| *known == dialect) else {
        let known: Vec<&str> = DIALECTS.iter().map(|(name, _)| *name).collect();
        let message = format!("dialect `{dialect}` is not known; there are {}", known.join(", "));
        return Err(PolicyError::new_err(message));
    };
    py.detach(|| {
        let script = parse(name, text, &defines).map_err(|e| InputError::new_err(e.to_string()))?;
        let place = |e: &dyn std::fmt::Display| PolicyError::new_err(format!("{name}: {e}"));
        let mut host =
            EngineHost::new(registry(), *dialect, stack.as_deref(), seed).map_err(|e| place(&e))?;
        let tolerance = tolerance.map(Duration::from_nanos);
        let outcome = ackclock_script::run(&script, &mut host, tolerance, &in_folder(&folder))
            .map_err(|e| place(&e))?;
        Ok(report(name, &outcome).to_string())
    })
}

/// The dialects of scripts by their names.
#[pyfunction]
pub fn script_dialects() -> Vec<&'static str> {
    DIALECTS.iter().map(|(name, _)| *name).collect()
}

fn report(name: &str, outcome: &Outcome) -> Value {
    let seconds = |at: ackclock_units::Instant| at.as_secs_f64();
    let line =
        |l: &Line| json!({"line": l.line, "at": l.at.map(seconds), "expected": l.expected, "got": l.got});
    json!({
        "script": name,
        "passed": outcome.passed(),
        "events": outcome.events,
        "ended": seconds(outcome.ended),
        "failure": outcome.failure.as_ref().map(|f| json!({"line": f.line, "why": f.why})),
        "timeline": outcome.lines.iter().map(line).collect::<Vec<_>>(),
        "notes": outcome.notes,
    })
}
