//! A command behind an emulated link.

use std::ffi::{CString, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use ackclock_drive::{LinkOptions, LinkProgress, LinkReport, LinkSample, run_link};
use ackclock_trace::{LinkRow, LinkSeriesRow};
use ackclock_units::{Duration, Rate};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::InputError;
use crate::probe::specs;
use crate::simulate::read;

/// Runs `command` behind the first link of a scenario's path, which leads to the command, and its way back.
/// `text`, `overrides`, `name` and `folder` are as for `simulate`; the scenario may name any file. `environment`
/// has its variables, `NAME=VALUE` each, `server` a command to run at the far end in place of the outside world,
/// `captures` is a folder for the captures of both ends. `progress` is called with `null` when
/// the command begins and, if `live`, each second with what passed, as JSON; an exception from it ends these calls,
/// and is raised at the end. Returns the exit status of the command and the
/// numbers of the link, as JSON. Must be called in a process with a single thread, which may be moved into a user
/// namespace. Raises `MissingRightError` if the system does not permit it.
#[pyfunction]
#[pyo3(signature = (text, overrides, name, folder, command, environment, server = None, captures = None, live = false, progress = None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords of Python")]
pub fn link(
    py: Python<'_>,
    text: &str,
    overrides: Vec<(String, String)>,
    name: &str,
    folder: Option<PathBuf>,
    command: Vec<OsString>,
    environment: Vec<OsString>,
    server: Option<Vec<OsString>>,
    captures: Option<PathBuf>,
    live: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let resolved = read(text, &overrides, name, folder.as_deref(), true)?;
    let (down, up) = specs(&resolved)?;
    let options = LinkOptions {
        up,
        down,
        seed: resolved.seeds.first().copied().unwrap_or(1),
        command: strings(command)?,
        environment: strings(environment)?,
        server: server.map(strings).transpose()?,
        captures,
        live,
    };
    let mut raised = None;
    let found = py.detach(|| {
        run_link(options, &mut |reached| {
            let told = match reached {
                LinkProgress::Begins => Value::Null,
                LinkProgress::Second(sample) => {
                    let LinkSample { up, down } = *sample;
                    json!({ "time": up.time.as_secs_f64(), "up": second(&up), "down": second(&down) })
                }
            };
            let call = |py: Python<'_>| match &progress {
                Some(progress) => progress.call1(py, (told.to_string(),)).map(drop),
                None => Ok(()),
            };
            match Python::attach(call) {
                Ok(()) => ControlFlow::Continue(()),
                Err(e) => {
                    raised = Some(e);
                    ControlFlow::Break(())
                }
            }
        })
    });
    let found = found.map_err(crate::error::drive)?;
    raised.map_or_else(|| Ok(report(&found).to_string()), Err)
}

fn strings(given: Vec<OsString>) -> PyResult<Vec<CString>> {
    let one = |s: OsString| {
        CString::new(s.into_vec()).map_err(|_| InputError::new_err("an argument holds a zero byte"))
    };
    given.into_iter().map(one).collect()
}

fn seconds(d: Option<Duration>) -> Value {
    json!(d.map(Duration::as_secs_f64))
}

/// What passed in an interval.
fn second(row: &LinkSeriesRow) -> Value {
    let dropped = row.dropped_full
        + row.dropped_early
        + row.dropped_pushed_out
        + row.dropped_shed
        + row.dropped_policed
        + row.dropped_oversized;
    json!({
        "interval": row.interval.as_secs_f64(),
        "packets": row.packets,
        "throughput": row.throughput.bits_per_sec(),
        "queue_packets": row.queue_packets,
        "queueing_delay": seconds(row.sojourn_mean),
        "dropped_queue": dropped,
        "dropped_wire": row.dropped_wire,
        "marked": row.marked,
    })
}

fn report(found: &LinkReport) -> Value {
    let e = &found.emulator;
    json!({
        "status": found.status,
        "seconds": found.lasted.as_secs_f64(),
        "up": direction(&found.up, found.lasted),
        "down": direction(&found.down, found.lasted),
        "late": {
            "deliveries": e.delivered,
            "late": e.late,
            "mean": e.mean_lateness.as_secs_f64(),
            "max": e.max_lateness.as_secs_f64(),
        },
        "undelivered": e.undelivered,
        "unsent": found.unsent,
        "outside": found.relay.map(|r| json!({
            "connections": r.connections, "refused": r.refused, "datagrams": r.datagrams,
        })),
    })
}

/// The numbers of a direction. Those of bytes and rates are of what was put on the wire.
fn direction(row: &LinkRow, lasted: Duration) -> Value {
    json!({
        "rate": row.rate.map(Rate::bits_per_sec),
        "delay": row.delay.as_secs_f64(),
        "packets": row.packets_offered,
        "bytes": row.bytes_offered,
        "delivered": row.delivered,
        "bytes_sent": row.bytes,
        "throughput": 8.0 * row.bytes as f64 / lasted.as_secs_f64().max(1e-9),
        "utilisation": row.utilisation,
        "dropped": {
            "queue_full": row.dropped_full,
            "queue_early": row.dropped_early,
            "pushed_out": row.dropped_pushed_out,
            "shed": row.dropped_shed,
            "policed": row.dropped_policed,
            "oversized": row.dropped_oversized,
            "wire": row.dropped_wire,
        },
        "marked": row.marked,
        "duplicated": row.duplicated,
        "corrupted": row.corrupted,
        "reordered": row.reordered,
        "queueing_delay": {
            "mean": seconds(row.sojourn_mean),
            "median": seconds(row.sojourn_median),
            "p95": seconds(row.sojourn_p95),
            "p99": seconds(row.sojourn_p99),
            "max": seconds(row.sojourn_max),
        },
        "queue_max_packets": row.queue_max_packets,
    })
}
