//! Transfers over an emulated path: by the kernel's own TCP, and, with an application of the registry at each
//! end, by our engine too.

use std::ops::ControlFlow;
use std::path::PathBuf;

use ackclock_drive::{
    Capture, Clock, Closes, DriveError, EmulatorReport, EndKind, FlowReport, FlowTestbed, Flows, FlowsReport,
    KernelTransfer, KernelWeb, Kernels, KernelsOptions, Means, OptionSeen, TcpCounts, TcpOption, WebFlow,
};
use ackclock_engine::Stats;
use ackclock_units::Duration;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::ScenarioError;
use crate::probe::{counters, links, resolved, specs};

/// Sends for `seconds` from one kernel to another, in namespaces of their own, over the link and the way back
/// of the scenario `path`, and captures beside the sender. `parameters` are set in both kernels first.
/// Returns the kernel's counters, as JSON. Must be called in a process with a single thread, which may be
/// moved into a user namespace. Raises `MissingRightError` if the system does not permit it.
#[pyfunction]
pub fn kernel_transfer(
    py: Python<'_>,
    path: &str,
    seconds: f64,
    parameters: Vec<(String, String)>,
    capture: PathBuf,
) -> PyResult<String> {
    let ((there, back), seed) = links(path)?;
    let transfer = KernelTransfer { duration: Duration::from_secs_f64(seconds), parameters };
    let found = interruptible(py, |go_on| {
        let clock = Clock::start();
        let capture = Capture::create(&capture, clock)?;
        let kernels = Kernels::new(KernelsOptions {
            mtu: 1500,
            there,
            back,
            access: Default::default(),
            seed,
            clock,
            capture: Some(capture.clone()),
        })?;
        let found = transfer.run(kernels, go_on)?;
        capture.finish()?;
        Ok(found)
    })?;
    Ok(json!({
        "retransmitted": found.retransmitted,
        "timeouts": found.timeouts,
        "received": found.received,
        "late": found.path.late,
        "path": { "forward": counters(&found.path.forward), "backward": counters(&found.path.backward) },
    })
    .to_string())
}

/// Makes the web transfers of the scenario `scenario`, with its first seed, by two kernels in namespaces of
/// their own: each client is a host at its own distance, and the scenario's one link and its way back are
/// emulated. `parameters` are set in both kernels, `options` on all sockets; `server_closes` selects which
/// end closes first; `capture` is a file for the packets that pass the server's device. Returns the results,
/// as JSON, with columns for the flows. Must be called in a process with a single thread, which may be moved
/// into a user namespace. Raises `MissingRightError` if the system does not permit it, or its kernel lacks an
/// option.
#[pyfunction]
pub fn kernel_web(
    py: Python<'_>,
    scenario: &str,
    parameters: Vec<(String, String)>,
    options: Vec<(String, i32)>,
    server_closes: bool,
    capture: Option<PathBuf>,
) -> PyResult<String> {
    let resolved = resolved(scenario)?;
    let job =
        resolved.jobs().first().copied().ok_or_else(|| ScenarioError::new_err("the scenario has no run"))?;
    let transfers = resolved.transfers(job).map_err(|e| crate::error::scenario(&e))?;
    let (there, back) = specs(&resolved)?;
    let options = named(options)?;
    let closes = if server_closes { Closes::Server } else { Closes::Client };
    let web = KernelWeb {
        transfers,
        duration: resolved.duration(),
        drain: resolved.drain(),
        closes,
        parameters,
        options,
    };
    let found = interruptible(py, |go_on| {
        let clock = Clock::start();
        let capture = capture.map(|path| Capture::create(&path, clock)).transpose()?;
        let access = web.access();
        let kernels = Kernels::new(KernelsOptions {
            mtu: 1500,
            there,
            back,
            access,
            seed: job.seed,
            clock,
            capture: capture.clone(),
        })?;
        let found = web.run(kernels, go_on)?;
        capture.map_or(Ok(()), |c| c.finish())?;
        Ok(found)
    })?;
    Ok(json!({
        "flows": columns(&found.flows),
        "options": { "client": seen(&found.client_options), "server": seen(&found.server_options) },
        "counters": counted(found.counters.iter().map(|(name, server, client)| (*name, Some(*client), Some(*server)))),
        "received_loaded": found.received_loaded,
        "path_loaded": path(&found.path_loaded),
        "path": path(&found.path),
        "seconds": found.lasted.as_secs_f64(),
    })
    .to_string())
}

/// Runs the applications of the scenario `scenario`, with its first seed, above real connections: `carriers`
/// selects for the clients and for the servers whether their TCP is that of a `kernel` in a namespace of its
/// own or our `engine`, with the stacks of the scenario; the rest is as for `kernel_web`. `quick_acks`: the
/// kernels acknowledge at once, which is set after every read. Returns the results, as JSON: columns for the
/// flows, and for each flow the times at which its client's transactions began and what they took.
#[pyfunction]
pub fn emulated_flows(
    py: Python<'_>,
    scenario: &str,
    carriers: (String, String),
    parameters: Vec<(String, String)>,
    options: Vec<(String, i32)>,
    quick_acks: bool,
    capture: Option<PathBuf>,
) -> PyResult<String> {
    let resolved = resolved(scenario)?;
    let job =
        resolved.jobs().first().copied().ok_or_else(|| ScenarioError::new_err("the scenario has no run"))?;
    let conversations = resolved.conversations(job).map_err(|e| crate::error::scenario(&e))?;
    let (there, back) = specs(&resolved)?;
    let carriers = (carrier(&carriers.0)?, carrier(&carriers.1)?);
    let flows = Flows {
        conversations,
        duration: resolved.duration(),
        parameters,
        options: named(options)?,
        quick_acks,
    };
    let found = interruptible(py, |go_on| {
        let clock = Clock::start();
        let capture = capture.map(|path| Capture::create(&path, clock)).transpose()?;
        let options = KernelsOptions {
            mtu: 1500,
            there,
            back,
            access: flows.access(),
            seed: job.seed,
            clock,
            capture: capture.clone(),
        };
        let ends = FlowTestbed::new(carriers, flows.hosts()?, options)?;
        let found = flows.run(ends, go_on)?;
        capture.map_or(Ok(()), |c| c.finish())?;
        Ok(found)
    })?;
    Ok(conversed(&found).to_string())
}

fn carrier(name: &str) -> PyResult<EndKind> {
    match name {
        "kernel" => Ok(EndKind::Kernel),
        "engine" => Ok(EndKind::Engine),
        other => {
            Err(ScenarioError::new_err(format!("the world is `{other}`; expected `kernel` or `engine`")))
        }
    }
}

fn conversed(found: &FlowsReport) -> Value {
    let column = |value: &dyn Fn(&FlowReport) -> Value| -> Value { found.flows.iter().map(value).collect() };
    let time = |d: Option<Duration>| json!(d.map(Duration::as_secs_f64));
    // From a kernel's counters, or from our engine's.
    let client = |kernel: &dyn Fn(&TcpCounts) -> Value, engine: &dyn Fn(&Stats) -> Value| {
        column(&|f| {
            f.client.counts.as_ref().map(kernel).or(f.client.stats.as_deref().map(engine)).unwrap_or_default()
        })
    };
    let none = |_: &Stats| Value::Null;
    let s = &found.stamping;
    json!({
        "flows": {
            "group": column(&|f| json!(&*f.group)),
            "start": column(&|f| time(f.opened)),
            "established": column(&|f| time(f.established)),
            "outcome": column(&|f| json!(f.client.outcome.word())),
            "reason": column(&|f| json!(f.client.reason)),
            "bytes_written": column(&|f| json!(f.client.written)),
            "bytes_acked": column(&|f| json!(f.client.acked)),
            "bytes_delivered": column(&|f| json!(f.server.read)),
            "wrong_byte": column(&|f| json!(f.server.wrong.or(f.client.wrong))),
            "data_segments_sent": client(&|c| json!(c.data_segments_sent), &|s| json!(s.data_segments_sent)),
            "retransmitted_segments": client(&|c| json!(c.retransmitted_segments), &|s| json!(s.retransmitted_segments)),
            "timeouts": client(&|c| json!(c.timeouts), &|s| json!(s.timeouts)),
            "rto": client(&|c| time(Some(c.rto)), &none),
            "cwnd_segs": client(&|c| json!(c.cwnd_segs), &none),
            "min_rtt": client(&|c| time(c.min_rtt), &|s| time(s.rtt_min.get())),
            "since": column(&|f| f.client.responses.iter().map(|r| time(Some(r.since))).collect()),
            "response_times": column(&|f| f.client.responses.iter().map(|r| time(Some(r.time))).collect()),
        },
        "options": { "client": seen(&found.client_options), "server": seen(&found.server_options) },
        "counters": counted(found.counters.iter().copied()),
        "stamps": { "read": s.stamps, "agreeing": s.agreeing, "lag": s.lag.as_secs_f64(), "max_lag": s.max_lag.as_secs_f64() },
        "path": path(&found.path),
        "seconds": found.lasted.as_secs_f64(),
    })
}

fn named(options: Vec<(String, i32)>) -> PyResult<Vec<(TcpOption, i32)>> {
    let options = options.into_iter().map(|(name, value)| Ok((TcpOption::named(&name)?, value)));
    options.collect::<Result<_, DriveError>>().map_err(crate::error::drive)
}

fn path(r: &EmulatorReport) -> Value {
    json!({
        "forward": counters(&r.forward),
        "backward": counters(&r.backward),
        "delivered": r.delivered,
        "undelivered": r.undelivered,
        "late": r.late,
        "mean_lateness": r.mean_lateness.as_secs_f64(),
        "max_lateness": r.max_lateness.as_secs_f64(),
    })
}

fn seen(options: &[OptionSeen]) -> Value {
    options
        .iter()
        .map(|o| json!({ "name": o.option.name(), "value": o.value, "same": o.same, "other": o.other }))
        .collect()
}

/// The counters of the clients' and the servers' kernel, if they are kernels.
fn counted(counters: impl Iterator<Item = (&'static str, Option<u64>, Option<u64>)>) -> Value {
    counters
        .map(|(name, client, server)| json!({ "name": name, "server": server, "client": client }))
        .collect()
}

/// The flows, a list for each column. Names and units are those of the table of flows.
fn columns(flows: &[WebFlow]) -> Value {
    let column = |value: &dyn Fn(&WebFlow) -> Value| -> Value { flows.iter().map(value).collect() };
    let time = |d: Option<Duration>| json!(d.map(Duration::as_secs_f64));
    let server =
        |value: &dyn Fn(&TcpCounts) -> Value| column(&|f| f.server.as_ref().map_or(Value::Null, value));
    json!({
        "start": column(&|f| time(f.opened)),
        "late": column(&|f| time(Some(f.late))),
        "established": column(&|f| time(f.established)),
        "size": column(&|f| json!(f.transfer.size)),
        "rtt": column(&|f| time(Some(f.transfer.access.round_trip()))),
        "response_time": column(&|f| time(f.response_time)),
        "bytes_delivered": column(&|f| json!(f.received)),
        "outcome": column(&|f| json!(f.outcome.word())),
        "reason": column(&|f| json!(f.reason)),
        "segments_sent": server(&|c| json!(c.segments_sent)),
        "data_segments_sent": server(&|c| json!(c.data_segments_sent)),
        "retransmitted_segments": server(&|c| json!(c.retransmitted_segments)),
        "bytes_sent": server(&|c| json!(c.bytes_sent)),
        "retransmitted_bytes": server(&|c| json!(c.retransmitted_bytes)),
        "timeouts": server(&|c| json!(c.timeouts)),
        "peer_timeouts": column(&|f| f.client.as_ref().map_or(Value::Null, |c| json!(c.timeouts))),
    })
}

/// Runs `work`, which uses namespaces, without the interpreter's lock, until it is done, Ctrl-C is pressed,
/// or the parent process ends.
fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> ControlFlow<()>) -> Result<T, DriveError> + Send,
) -> PyResult<T> {
    in_namespaces(py, |go_on| {
        // After the change of credentials, which resets it. Nobody would read the results of an orphan.
        ackclock_drive::end_with_parent();
        work(go_on)
    })
}

/// The same, and calls `report` with what the work says, which can stop it by an exception.
pub(crate) fn reporting<T: Send, R>(
    py: Python<'_>,
    mut report: impl FnMut(Python<'_>, R) -> PyResult<()> + Send,
    work: impl FnOnce(&mut dyn FnMut(R) -> ControlFlow<()>) -> Result<T, DriveError> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let found = interruptible(py, |go_on| {
        work(&mut |what| {
            go_on()?;
            Python::attach(|py| match report(py, what) {
                Ok(()) => ControlFlow::Continue(()),
                Err(e) => {
                    raised = Some(e);
                    ControlFlow::Break(())
                }
            })
        })
    });
    raised.map_or(found, Err)
}

/// The same for a process that somebody may leave running.
pub(crate) fn in_namespaces<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> ControlFlow<()>) -> Result<T, DriveError> + Send,
) -> PyResult<T> {
    let mut stopped_by = None;
    let mut go_on = || {
        Python::attach(|py| match py.check_signals() {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                stopped_by = Some(e);
                ControlFlow::Break(())
            }
        })
    };
    let found = py.detach(|| {
        if ackclock_drive::check()? == Means::UserNamespace {
            ackclock_drive::enter_user_namespace()?;
        }
        work(&mut go_on)
    });
    match stopped_by {
        Some(e) => Err(e),
        None => found.map_err(crate::error::drive),
    }
}
