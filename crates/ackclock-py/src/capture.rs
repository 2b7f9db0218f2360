//! Analysis of captures.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use ackclock_capture::gaps::ByTime;
use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, MOST_PACKETS, Options, Report, Selection};
use ackclock_policy::Timing;
use ackclock_shadow::{ByStack, ShadowError, default_stacks};
use ackclock_trace::Row;
use ackclock_units::{Duration, Instant};
use pyo3::prelude::*;

use crate::capture_json::describe;
use crate::error::{InputError, SimulationError};
use crate::registry::registry;
use crate::table::Table;

/// The results of an analysis.
#[pyclass(frozen, module = "ackclock._core")]
pub struct Captured {
    /// All results, as JSON.
    #[pyo3(get)]
    json: String,
    /// Two rows for each connection.
    #[pyo3(get)]
    directions: Py<Table>,
    /// Retransmissions and probes.
    #[pyo3(get)]
    retransmissions: Py<Table>,
    /// Expiries of retransmission timers.
    #[pyo3(get)]
    timeouts: Py<Table>,
    /// Loss episodes.
    #[pyo3(get)]
    episodes: Py<Table>,
    /// Round-trip times and flights, if requested.
    #[pyo3(get)]
    samples: Py<Table>,
    /// Packets, if requested.
    #[pyo3(get)]
    packets: Py<Table>,
    /// Timers simulated in place of the senders', if requested.
    #[pyo3(get)]
    what_if: Py<Table>,
    /// Stalls with each of these timers.
    #[pyo3(get)]
    stalls: Py<Table>,
}

/// Analyses the capture at `path` (`-` for standard input). `flow` selects connections (`Selection::parse`);
/// `samples` keeps a row for every cumulative ack, `packets` one for every packet of these connections;
/// `what_if` names timers to simulate in place of the senders' (`Timing::list`). `progress` is called with
/// the bytes read. With `by_stack` the stacks that fit name the causes of retransmissions. Raises `InputError`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keywords of Python")]
#[pyo3(signature = (path, flow = None, samples = false, progress = None, packets = false, what_if = None, by_stack = false))]
pub fn read_capture(
    py: Python<'_>,
    path: PathBuf,
    flow: Option<&str>,
    samples: bool,
    progress: Option<Py<PyAny>>,
    packets: bool,
    what_if: Option<&str>,
    by_stack: bool,
) -> PyResult<Captured> {
    let what_if = what_if
        .map(|names| Timing::list(registry(), names))
        .transpose()
        .map_err(|e| InputError::new_err(e.to_string()))?;
    let options = Options { samples, what_if: what_if.unwrap_or_default().into(), ..Options::default() };
    let flow = flow.map(Selection::parse).transpose().map_err(InputError::new_err)?;
    let mut stopped_by = None;
    let report_progress = |bytes: u64| {
        Python::attach(|py| {
            let call_progress = || progress.as_ref().map_or(Ok(()), |p| p.call1(py, (bytes,)).map(drop));
            match py.check_signals().and_then(|()| call_progress()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(e) => {
                    stopped_by = Some(e);
                    ControlFlow::Break(())
                }
            }
        })
    };
    let listed = packets.then(|| flow.clone());
    let mut said = Vec::new();
    let report = py.detach(|| {
        catch_unwind(AssertUnwindSafe(|| match by_stack {
            true => asked(&path, options, (listed, flow.as_ref()), &mut said, report_progress),
            false => Ok(report(&path, options, listed, report_progress)?),
        }))
    });
    let report = report.map_err(|_| {
        SimulationError::new_err(
            "the analysis violated one of its own invariants (a panic); please report it with the capture",
        )
    })?;
    if let Some(e) = stopped_by {
        return Err(e);
    }
    let report = report.map_err(|e| InputError::new_err(format!("{}: {e}", path.display())))?;
    captured(py, report, &path.display().to_string(), flow.as_ref(), &said)
}

/// Analyses the capture twice: the stacks that fit its senders are asked in between.
fn asked(
    path: &Path,
    options: Options,
    (listed, flow): (Option<Option<Selection>>, Option<&Selection>),
    said: &mut Vec<ByStack>,
    mut report_progress: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<Report, ShadowError> {
    if path == Path::new("-") {
        return Err(ShadowError::Unsupported("standard input cannot be read twice; expected a file"));
    }
    let first = report(path, Options::default(), None, &mut report_progress)?;
    let wanted = |n: usize| flow.is_none_or(|f| f.includes(n, &first.connections[n]));
    let (causes, by_stack) = ackclock_shadow::ask(path, &first, &default_stacks(registry())?, wanted)?;
    *said = by_stack;
    Ok(report(path, Options { causes: causes.into(), ..options }, listed, report_progress)?)
}

/// The results of the connections that `flow` selects.
pub(crate) fn captured(
    py: Python<'_>,
    mut report: Report,
    name: &str,
    flow: Option<&Selection>,
    said: &[ByStack],
) -> PyResult<Captured> {
    // Only packets of the selected connections were listed.
    let packets = report.take_packets();
    let wanted = |n: usize| flow.is_none_or(|f| f.includes(n, &report.connections[n]));
    let tables = report.tables(name, wanted);
    let table = |batch| Py::new(py, Table::new(batch));
    Ok(Captured {
        json: describe(&report, &tables, name, wanted, said).to_string(),
        directions: table(Row::record_batch(&tables.directions))?,
        retransmissions: table(Row::record_batch(&tables.retransmissions))?,
        timeouts: table(Row::record_batch(&tables.timeouts))?,
        episodes: table(Row::record_batch(&tables.episodes))?,
        samples: table(Row::record_batch(&tables.samples))?,
        packets: table(Row::record_batch(&packets))?,
        what_if: table(Row::record_batch(&tables.what_if))?,
        stalls: table(Row::record_batch(&tables.stalls))?,
    })
}

/// `listed`: list packets, of the selected connections or of all.
pub(crate) fn report(
    path: &Path,
    options: Options,
    listed: Option<Option<Selection>>,
    report_progress: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<Report, ackclock_capture::CaptureError> {
    let mut packets = Packets::new(open(path)?)?;
    let mut analysis = Analysis::new(options);
    if let Some(wanted) = listed {
        analysis.list_packets(wanted, MOST_PACKETS);
    }
    analysis.read(&mut packets, report_progress)?;
    Ok(analysis.finish())
}

/// The silences among arrivals (s, in order) that indicate timeouts (B-U1): when each begins, its length, and
/// whether it is a consecutive one. The rule is the one for captures.
#[pyfunction]
#[pyo3(signature = (arrivals, rtt, least, round_trips, ratio))]
pub fn gap_timeouts(
    arrivals: Vec<f64>,
    rtt: f64,
    least: f64,
    round_trips: f64,
    ratio: f64,
) -> PyResult<Vec<(f64, f64, bool)>> {
    let first = arrivals.first().copied().unwrap_or(0.0);
    let span = |s: f64| {
        if s >= 0.0 {
            Ok(Duration::from_secs_f64(s))
        } else {
            Err(InputError::new_err(format!("the time is {s} s; expected 0 s or more")))
        }
    };
    let (least, rtt) = (span(least)?, span(rtt)?);
    let mut rule = ByTime::new(least, round_trips, ratio);
    let mut found = Vec::new();
    for at in arrivals {
        let gap = rule.arrival(Instant::ZERO + span(at - first)?, rtt);
        found.extend(gap.map(|g| (first + g.from.as_secs_f64(), g.length.as_secs_f64(), g.round > 1)));
    }
    Ok(found)
}
