//! Scenarios on the kernel's TCP.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use ackclock_drive::{
    EVENT_COLUMNS, KernelReport, TestbedOptions, TestbedRun, UNKNOWN, UNKNOWN_OF_EPISODES, check_testbed,
    run_testbed,
};
use ackclock_sim::scenario::Results;
use ackclock_trace::{Row, TracedRows};
use ackclock_units::Duration;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt8Array, make_array, new_null_array};
use arrow_schema::Schema;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::kernels::reporting;
use crate::simulate::{Result, Trace, read};
use crate::table::Table;

/// Runs the scenario `text` on the kernel's TCP in real time, one run after the other: each host in a network
/// namespace of its own, all links emulated. `overrides`, `name`, `folder` and `anywhere` are as for `simulate`.
/// `progress` is called with the share of the time that has passed and a label, a few times a second; an exception
/// from it stops the runs. `capture` is a file for the packets that pass the device of the first client's host, of
/// the first run. Returns the results, with nothing where a kernel does not tell, and as JSON what only the kernel
/// and the emulator have. Must be called in a process with a single thread, which may be moved into a user
/// namespace. Raises `MissingRightError` if the system does not permit it, and `ScenarioError` or `InputError` for
/// what a kernel cannot honour.
#[pyfunction]
#[pyo3(signature = (text, overrides, name, folder, progress, anywhere = false, capture = None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords of Python")]
pub fn testbed(
    py: Python<'_>,
    text: &str,
    overrides: Vec<(String, String)>,
    name: &str,
    folder: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
    anywhere: bool,
    capture: Option<PathBuf>,
) -> PyResult<(Result, String)> {
    let resolved = read(text, &overrides, name, folder.as_deref(), anywhere)?;
    check_testbed(&resolved).map_err(crate::error::drive)?;
    let jobs = resolved.jobs();
    let (mut results, mut reports) = (Results::default(), Vec::new());
    let (mut unknown, mut traces) = (Vec::new(), Vec::new());
    for (n, job) in jobs.iter().enumerate() {
        let options = TestbedOptions { capture: capture.clone().filter(|_| n == 0) };
        let label = format!("{} of {} runs", n, jobs.len());
        let passed = |py: Python<'_>, share: f64| {
            let share = (n as f64 + share) / jobs.len() as f64;
            progress.as_ref().map_or(Ok(()), |p| p.call1(py, (share, label.as_str())).map(drop))
        };
        let found = reporting(py, passed, |go_on| run_testbed(&resolved, *job, &options, go_on))?;
        reports.push(report(&found.info.label, job.seed, &found.kernel));
        let before = results.flows.len();
        unknown.extend(found.unknown.iter().map(|(row, column)| (before + row, *column)));
        if let Some(rows) = &found.trace {
            traces.push(trace(py, found.info.label.clone(), rows)?);
        }
        add(&mut results, found);
    }
    let mut result = Result::new(py, &resolved, &results)?;
    let flows = without(&Row::record_batch(&results.flows), UNKNOWN);
    result.flows = Py::new(py, Table::new(without_cells(&flows, &unknown)))?;
    let of_run = |(row, column): &(usize, &'static str)| (results.flows[*row].run.to_string(), *column);
    result.summaries = summaries(&result.summaries, &unknown.iter().map(of_run).collect());
    result.traces = traces;
    let all = json!({ "kernel": kernel_version(), "runs": reports });
    Ok((result, all.to_string()))
}

fn add(results: &mut Results, found: TestbedRun) {
    let TestbedRun { info, outcome, .. } = found;
    results.runs.push(info);
    results.flows.extend(outcome.flows);
    results.links.extend(outcome.links);
    results.flow_series.extend(outcome.flow_series);
    results.link_series.extend(outcome.link_series);
    results.exchanges.extend(outcome.exchanges);
    results.rounds.extend(outcome.rounds);
    results.playbacks.extend(outcome.playbacks);
    results.events.push(Vec::new());
    results.streamed.push(None);
}

/// Fails for what a kernel or the emulator cannot honour, as [`testbed`] does, and runs nothing.
#[pyfunction]
#[pyo3(signature = (text, overrides, name, folder, anywhere = false))]
pub fn check_testbed_scenario(
    text: &str,
    overrides: Vec<(String, String)>,
    name: &str,
    folder: Option<PathBuf>,
    anywhere: bool,
) -> PyResult<()> {
    let resolved = read(text, &overrides, name, folder.as_deref(), anywhere)?;
    check_testbed(&resolved).map_err(crate::error::drive)
}

/// The tables of a run's trace, without what a kernel does not tell.
fn trace(py: Python<'_>, label: String, rows: &TracedRows) -> PyResult<Trace> {
    let table = |batch| Py::new(py, Table::new(batch));
    let episodes = without(&Row::record_batch(&rows.episodes), UNKNOWN_OF_EPISODES);
    let (samples, segments) = (Row::record_batch(&rows.samples), Row::record_batch(&rows.segments));
    Ok((label, table(samples)?, table(episodes)?, table(segments)?, table(Row::record_batch(&rows.state))?))
}

/// The batch with nothing in these cells, of columns that the kernel's events fill.
fn without_cells(batch: &RecordBatch, unknown: &[(usize, &'static str)]) -> RecordBatch {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let name = field.name().as_str();
        if EVENT_COLUMNS.contains(&name) {
            // Always, so that all runs have the same schema.
            fields.push(Arc::new(field.as_ref().clone().with_nullable(true)));
            let mut known = vec![true; column.len()];
            unknown.iter().filter(|(_, column)| *column == name).for_each(|(row, _)| known[*row] = false);
            columns.push(where_known(column, &known));
        } else {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(column));
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .expect("as long as the batch, of the same types")
}

/// The column with nothing where it is not known.
fn where_known(column: &ArrayRef, known: &[bool]) -> ArrayRef {
    let mask: UInt8Array = known.iter().map(|known| known.then_some(0)).collect();
    let data = column.to_data().into_builder().nulls(mask.nulls().cloned()).build();
    make_array(data.expect("a mask as long as the column"))
}

/// The batch with nothing in these columns.
fn without(batch: &RecordBatch, names: &[&str]) -> RecordBatch {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if names.contains(&field.name().as_str()) {
            fields.push(Arc::new(field.as_ref().clone().with_nullable(true)));
            columns.push(new_null_array(field.data_type(), column.len()));
        } else {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(column));
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .expect("as long as the batch, of the same types")
}

/// The rows of numbers without those that are unknown of a flow of their run.
fn summaries(text: &str, unknown: &BTreeSet<(String, &'static str)>) -> String {
    let mut rows: Value = serde_json::from_str(text).unwrap_or_default();
    for row in rows.as_array_mut().into_iter().flatten() {
        let run = row["run"].as_str().unwrap_or_default().to_owned();
        for (_, column) in unknown.iter().filter(|(of, _)| *of == run) {
            if let Some(value) = row.get_mut(*column) {
                *value = Value::Null;
            }
        }
    }
    rows.to_string()
}

fn report(run: &str, seed: u64, r: &KernelReport) -> Value {
    let seconds = |d: Duration| d.as_secs_f64();
    let counters = r.counters.iter().flat_map(|host| {
        let one = |(name, value): &(String, u64)| {
            json!({ "host": host.host, "stack": host.stack, "name": name, "value": value })
        };
        host.counters.iter().map(one)
    });
    let options = r
        .options
        .iter()
        .map(|o| json!({ "name": o.option.name(), "value": o.value, "same": o.same, "other": o.other }));
    json!({
        "run": run,
        "seed": seed,
        "late": {
            "deliveries": r.deliveries,
            "late": r.late,
            "mean": seconds(r.mean_lateness),
            "max": seconds(r.max_lateness),
        },
        "undelivered": r.undelivered,
        "counters": counters.collect::<Vec<_>>(),
        "options": options.collect::<Vec<_>>(),
        "events": { "recorded": r.events.recorded, "lost": r.events.lost, "missing": r.events.missing },
    })
}

/// As `uname -sr` prints it.
fn kernel_version() -> String {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    format!("{} {}", read("ostype").trim(), read("osrelease").trim())
}
