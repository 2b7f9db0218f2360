//! Scenarios: resolving them, running them, and the results.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ackclock_sim::scenario::{
    self, Files, Limits, Resolved, Results, Scenario, ScenarioProgress, Summary, TracePart, TraceSink,
};
use ackclock_trace::{EventTables, Row, Sink};
use ackclock_units::{Duration, Rate};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::SimulationError;
use crate::registry::registry;
use crate::table::Table;

/// The results of a run: its tables, and the resolved scenario.
#[pyclass(frozen, module = "ackclock._core")]
pub struct Result {
    /// The resolved scenario, TOML.
    #[pyo3(get)]
    scenario: String,
    /// Its title; may be empty.
    #[pyo3(get)]
    title: String,
    /// Seeds of the runs.
    #[pyo3(get)]
    seeds: Vec<u64>,
    /// Events processed, all runs together.
    #[pyo3(get)]
    events: u64,
    /// A row of numbers for each run and stack, JSON.
    #[pyo3(get)]
    pub(crate) summaries: String,
    /// The time (s) from which on tables and summaries count.
    #[pyo3(get)]
    warmup: f64,
    /// One row for each flow.
    #[pyo3(get)]
    pub(crate) flows: Py<Table>,
    /// One row for each link.
    #[pyo3(get)]
    links: Py<Table>,
    /// Flows over time; missing without a `series` in the scenario.
    #[pyo3(get)]
    flow_series: Option<Py<Table>>,
    /// Links over time; missing without a `series` in the scenario.
    #[pyo3(get)]
    link_series: Option<Py<Table>>,
    /// One row for each request and its response, of applications that make many on a connection.
    #[pyo3(get)]
    exchanges: Py<Table>,
    /// One row for each round of a fan-in.
    #[pyo3(get)]
    rounds: Py<Table>,
    /// One row for each video.
    #[pyo3(get)]
    playback: Py<Table>,
    /// The trace of each run: its label, and the tables of samples, episodes, segments and state. Empty
    /// without a `trace` in the scenario.
    #[pyo3(get)]
    pub(crate) traces: Vec<Trace>,
    /// Which of these were passed to the sink, except their episodes: the place in `traces`, the number of
    /// the run, the attempt that counts, and the connection that stands in the tables for the first source of
    /// datagrams, which is 2147483648 in the parts.
    #[pyo3(get)]
    handed_on: Vec<(usize, usize, u32, u32)>,
}

/// The scenario `text`, resolved, as TOML. `overrides` are keys with their values; `name` is the name of the
/// scenario in errors; `folder` holds the files that it names, and `anywhere` permits files outside of it.
/// Raises `ScenarioError`.
#[pyfunction]
#[pyo3(signature = (text, overrides, name, folder, anywhere = false))]
pub fn resolve(
    text: &str,
    overrides: Vec<(String, String)>,
    name: &str,
    folder: Option<PathBuf>,
    anywhere: bool,
) -> PyResult<String> {
    Ok(read(text, &overrides, name, folder.as_deref(), anywhere)?.to_toml())
}

/// An estimate of the number of events that the scenario's runs trace. Raises `ScenarioError`.
#[pyfunction]
#[pyo3(signature = (text, overrides, name, folder, anywhere = false))]
pub fn expected_events(
    text: &str,
    overrides: Vec<(String, String)>,
    name: &str,
    folder: Option<PathBuf>,
    anywhere: bool,
) -> PyResult<f64> {
    Ok(read(text, &overrides, name, folder.as_deref(), anywhere)?.expected_events())
}

/// Runs the scenario on `workers` threads, on which the results do not depend. `progress` is called with the
/// share of the work done and a label, a few times a second. The interpreter is free meanwhile; a signal
/// whose handler raises stops the runs, and so does an exception from `progress`.
///
/// `memory` (bytes) and `traced_events` are [`Limits`]; traces that have no room go to
/// `sink.take(job, attempt, label, (samples, segments, state))`.
#[pyfunction]
#[pyo3(signature = (text, overrides, name, folder, workers, progress, anywhere = false, memory = None, traced_events = None, sink = None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords of Python")]
pub fn simulate(
    py: Python<'_>,
    text: &str,
    overrides: Vec<(String, String)>,
    name: &str,
    folder: Option<PathBuf>,
    workers: usize,
    progress: Option<Py<PyAny>>,
    anywhere: bool,
    memory: Option<u64>,
    traced_events: Option<u64>,
    sink: Option<Py<PyAny>>,
) -> PyResult<Result> {
    let resolved = read(text, &overrides, name, folder.as_deref(), anywhere)?;
    let mut limits = Limits::default();
    limits.memory = memory.unwrap_or(limits.memory);
    limits.traced_events = traced_events.unwrap_or(limits.traced_events);
    let refused = |e: scenario::ScenarioError| crate::error::scenario(&e.in_file(name));
    resolved.check_size(&limits).map_err(refused)?;
    let mut stopped_by = None;
    let report_progress = |p: &ScenarioProgress| {
        Python::attach(|py| match py.check_signals().and_then(|()| call_progress(py, progress.as_ref(), p)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                stopped_by = Some(e);
                ControlFlow::Break(())
            }
        })
    };
    let sink = sink.map(PythonSink::new);
    let passed = sink.as_ref().map(|sink| sink as &dyn TraceSink);
    // A panic is a bug of ours; it reaches Python as an exception.
    let results = py.detach(|| {
        catch_unwind(AssertUnwindSafe(|| {
            scenario::run_within(&resolved, report_progress, workers, &limits, passed)
        }))
    });
    let results = results.map_err(|_| {
        SimulationError::new_err(
            "the simulator violated one of its own invariants (a panic); please report it",
        )
    })?;
    if let Some(e) = stopped_by.or_else(|| sink.as_ref().and_then(PythonSink::failed)) {
        return Err(e);
    }
    match results {
        Ok(Some(results)) => Result::new(py, &resolved, &results),
        Ok(None) => Err(SimulationError::new_err("the runs were stopped")),
        Err(e) if e.is_size() => Err(refused(e)),
        Err(e) => Err(SimulationError::new_err(e.in_file(name).to_string())),
    }
}

/// A sink written in Python.
struct PythonSink {
    object: Py<PyAny>,
    /// The first exception that it raised.
    raised: Mutex<Option<PyErr>>,
}

impl PythonSink {
    fn new(object: Py<PyAny>) -> Self {
        Self { object, raised: Mutex::new(None) }
    }

    fn failed(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl TraceSink for PythonSink {
    fn take(&self, part: &TracePart<'_>) -> std::result::Result<(), String> {
        let rows = part.rows;
        let tables = (
            Table::new(Row::record_batch(&rows.samples)),
            Table::new(Row::record_batch(&rows.segments)),
            Table::new(Row::record_batch(&rows.state)),
        );
        Python::attach(|py| {
            let called = self.object.call_method1(py, "take", (part.job, part.attempt, part.label, tables));
            called.map(drop).map_err(|e| {
                let sentence = e.to_string();
                self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
                sentence
            })
        })
    }
}

/// Reads and resolves a scenario. Raises `ScenarioError`.
pub(crate) fn read(
    text: &str,
    overrides: &[(String, String)],
    name: &str,
    folder: Option<&Path>,
    anywhere: bool,
) -> PyResult<Resolved> {
    let overrides: Vec<(&str, &str)> = overrides.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let files = folder.map_or_else(Files::none, if anywhere { Files::anywhere } else { Files::in_folder });
    let scenario = Scenario::parse_with(text, &overrides).and_then(|s| s.resolve_with(registry(), &files));
    scenario.map_err(|e| crate::error::scenario(&e.in_file(name)))
}

fn call_progress(py: Python<'_>, progress: Option<&Py<PyAny>>, p: &ScenarioProgress) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    progress.call1(py, (p.share, format!("{} of {} runs, {} flows", p.runs_done, p.runs, p.flows_ended)))?;
    Ok(())
}

impl Result {
    pub(crate) fn new(py: Python<'_>, resolved: &Resolved, results: &Results) -> PyResult<Self> {
        Ok(Self {
            scenario: resolved.to_toml(),
            title: resolved.title.clone(),
            seeds: resolved.seeds.clone(),
            summaries: Value::from_iter(results.summaries(resolved).iter().map(describe)).to_string(),
            events: results.runs.iter().map(|r| r.events).sum(),
            warmup: resolved.warmup().as_secs_f64(),
            flows: Py::new(py, Table::new(Row::record_batch(&results.flows)))?,
            links: Py::new(py, Table::new(Row::record_batch(&results.links)))?,
            flow_series: over_time(py, resolved, &results.flow_series)?,
            link_series: over_time(py, resolved, &results.link_series)?,
            exchanges: Py::new(py, Table::new(Row::record_batch(&results.exchanges)))?,
            rounds: Py::new(py, Table::new(Row::record_batch(&results.rounds)))?,
            playback: Py::new(py, Table::new(Row::record_batch(&results.playbacks)))?,
            handed_on: handed_on(results),
            traces: traces(py, results)?,
        })
    }
}

/// A table over time, if the scenario asks for them.
fn over_time<R: Row>(py: Python<'_>, resolved: &Resolved, rows: &[R]) -> PyResult<Option<Py<Table>>> {
    resolved.series().map(|_| Py::new(py, Table::new(Row::record_batch(rows)))).transpose()
}

/// A run's label, and the tables of samples, episodes, segments and state.
pub(crate) type Trace = (String, Py<Table>, Py<Table>, Py<Table>, Py<Table>);

/// The runs that have a trace.
fn with_trace(results: &Results) -> impl Iterator<Item = usize> {
    (0..results.runs.len()).filter(|i| !results.events[*i].is_empty() || results.streamed[*i].is_some())
}

fn handed_on(results: &Results) -> Vec<(usize, usize, u32, u32)> {
    let found = with_trace(results)
        .enumerate()
        .map(|(place, job)| Some((place, job, results.streamed[job].as_ref()?)));
    found.flatten().map(|(place, job, h)| (place, job, h.attempt, h.first_datagram)).collect()
}

fn traces(py: Python<'_>, results: &Results) -> PyResult<Vec<Trace>> {
    let mut all = Vec::new();
    for i in with_trace(results) {
        let mut tables = EventTables::default();
        results.events[i].iter().for_each(|e| tables.record(e));
        let mut rows = tables.finish();
        if let Some(streamed) = &results.streamed[i] {
            rows.episodes.clone_from(&streamed.episodes);
        }
        let samples = Py::new(py, Table::new(Row::record_batch(&rows.samples)))?;
        let episodes = Py::new(py, Table::new(Row::record_batch(&rows.episodes)))?;
        let segments = Py::new(py, Table::new(Row::record_batch(&rows.segments)))?;
        let state = Py::new(py, Table::new(Row::record_batch(&rows.state)))?;
        all.push((results.runs[i].label.clone(), samples, episodes, segments, state));
    }
    Ok(all)
}

fn describe(s: &Summary) -> Value {
    let seconds = |d: Option<Duration>| d.map(Duration::as_secs_f64);
    json!({
        "run": s.run,
        "stack": s.stack,
        "seed": s.seed,
        "flows": s.flows_started,
        "finished": s.flows_finished,
        "failed": s.flows_failed,
        "unfinished": s.flows_unfinished,
        "mean": seconds(s.response_mean),
        "median": seconds(s.response_median),
        "p90": seconds(s.response_p90),
        "p99": seconds(s.response_p99),
        "max": seconds(s.response_max),
        "bottleneck": s.bottleneck,
        "loss": s.loss,
        "goodput": s.goodput.map(Rate::bits_per_sec),
        "delivered": s.delivered,
        "utilisation": s.utilisation,
        "timeouts": s.timeouts,
        "timeouts_by_round": s.timeouts_by_round,
        "spurious_timeouts": s.spurious_timeouts,
        "segments": s.data_segments_sent,
        "retransmissions": s.retransmitted_segments,
        "spurious_retransmissions": s.unneeded_retransmissions,
        "mean_size": s.mean_size,
        "load": s.load,
    })
}
