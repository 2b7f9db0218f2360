//! TReno: over a real network, over an emulated path, and over a simulated one.

#[cfg(target_os = "linux")]
use std::net::IpAddr;
#[cfg(target_os = "linux")]
use std::ops::ControlFlow;
use std::sync::Arc;

use ackclock_drive::{Background, LimitSign, Measured, ProbeOptions, ProbeReport, SimulatedPath};
#[cfg(target_os = "linux")]
use ackclock_drive::{
    Clock, DriveError, Kernels, KernelsOptions, Means, ProbeMethod, ProbePhase, ProbeProgress, ProbeTarget,
    RealProbe,
};
use ackclock_engine::Stack;
use ackclock_policy::replay::Distribution;
use ackclock_sim::scenario::{Files, Resolved, Scenario};
use ackclock_sim::{LinkCounters, LinkSpec};
use ackclock_units::{Duration, Instant, Rate};
#[cfg(target_os = "linux")]
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::{InputError, ScenarioError};
use crate::registry::registry;

/// The settings of a probe run, from a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    stack: String,
    mss: u32,
    max_rate: f64,
    seconds: f64,
    warmup: f64,
    background: u64,
    interval: f64,
}

impl Settings {
    /// The options, and whether the window grows with every segment, on which the models depend.
    fn options(&self) -> PyResult<(ProbeOptions, bool)> {
        let stack = Stack::named(registry(), &self.stack).map_err(|e| InputError::new_err(e.to_string()))?;
        let (config, time) = (stack.config(), Duration::from_secs_f64);
        // The window grows with every segment that arrives, not with every ack.
        let each = stack.build().ack.get_mut().name() == "every"
            || stack.entries().contains(&("window.byte_counting".to_owned(), "true".to_owned()));
        let options = ProbeOptions {
            mss: self.mss,
            max_rate: Rate::from_bits_per_sec(self.max_rate.max(1.0) as u64),
            duration: time(self.seconds),
            warmup: time(self.warmup),
            background: self.background,
            interval: time(self.interval),
            ..ProbeOptions::new(config, Arc::new(move || stack.build()))
        };
        Ok((options, each))
    }
}

/// Probes a host: ICMP echo, or UDP with a time to live where `ttl` is given. Returns the results, as JSON.
/// `progress` is called about ten times a second with JSON. A `KeyboardInterrupt` ends the run, which then
/// returns the results so far.
#[cfg(target_os = "linux")]
#[pyfunction]
pub fn probe(
    py: Python<'_>,
    address: &str,
    ttl: Option<u8>,
    settings: Settings,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (to, (options, each)) = (parse(address)?, settings.options()?);
    let found = watched(py, progress.as_ref(), |report_progress| {
        let target = ProbeTarget { to, method: method(ttl), from: None };
        ackclock_drive::run_probe(options, &target, report_progress)
    })?;
    Ok(describe_real(&found, each).to_string())
}

/// The same over an emulated path between two kernels, in namespaces of their own: the link and the way back
/// of the scenario `path`. `address` is that of the far kernel or of one behind it. `limit` sets the far
/// kernel's parameters, such as `net.ipv4.icmp_ratelimit`. Must be called in a process with a single thread,
/// which may be moved into a user namespace. Raises `MissingRightError` if the system does not permit it.
#[cfg(target_os = "linux")]
#[pyfunction]
pub fn probe_emulated(
    py: Python<'_>,
    path: &str,
    address: &str,
    ttl: Option<u8>,
    settings: Settings,
    limit: Vec<(String, String)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (to, (options, each)) = (parse(address)?, settings.options()?);
    let ((there, back), seed) = links(path)?;
    let mut report = None;
    let found = watched(py, progress.as_ref(), |report_progress| {
        if ackclock_drive::check()? == Means::UserNamespace {
            ackclock_drive::enter_user_namespace()?;
        }
        let kernels = Kernels::new(KernelsOptions {
            mtu: 1500,
            there,
            back,
            access: Default::default(),
            seed,
            clock: Clock::start(),
            capture: None,
        })?;
        kernels.near.set_sysctl("net.ipv4.ping_group_range", "0 0")?;
        limit.iter().try_for_each(|(key, value)| kernels.far.set_sysctl(key, value))?;
        let found = ackclock_drive::run_probe(
            options,
            &ProbeTarget { to, method: method(ttl), from: Some(&kernels.near) },
            report_progress,
        )?;
        report = Some(kernels.emulator.stop());
        Ok(found)
    })?;
    let mut described = describe_real(&found, each);
    if let Some(r) = report {
        described["path"] = json!({
            "forward": counters(&r.forward),
            "backward": counters(&r.backward),
            "undelivered": r.undelivered,
            "late": r.late,
            "mean_lateness": r.mean_lateness.as_secs_f64(),
        });
    }
    Ok(described.to_string())
}

/// The same in virtual time, over the link and the way back of the scenario `path`. `replies` limits the
/// host's replies by a token bucket: per second, and at once.
#[pyfunction]
pub fn probe_simulated(
    py: Python<'_>,
    path: &str,
    settings: Settings,
    replies: Option<(f64, f64)>,
) -> PyResult<String> {
    let (options, each) = settings.options()?;
    let ((forward, backward), seed) = links(path)?;
    let mut tokens = Tokens::new(replies);
    let found = py.detach(|| {
        let replies = &mut |now| tokens.take(now);
        ackclock_drive::simulate_probe(options, SimulatedPath { forward, backward, seed, replies })
    });
    let mut described = describe(&found.report, each);
    described["path"] = json!({ "forward": counters(&found.forward), "backward": counters(&found.backward) });
    Ok(described.to_string())
}

/// The token bucket that limits the simulated host's replies.
struct Tokens {
    limit: Option<(f64, f64)>,
    left: f64,
    at: Instant,
}

impl Tokens {
    fn new(limit: Option<(f64, f64)>) -> Self {
        Self { limit, left: limit.map_or(0.0, |(_, burst)| burst), at: Instant::ZERO }
    }

    fn take(&mut self, now: Instant) -> bool {
        let Some((rate, burst)) = self.limit else { return true };
        self.left = (self.left + rate * now.since(self.at).as_secs_f64()).min(burst);
        self.at = now;
        let answered = self.left >= 1.0;
        self.left -= f64::from(u8::from(answered));
        answered
    }
}

/// The first link of a scenario's path and its way back, and the scenario's first seed.
pub(crate) fn links(text: &str) -> PyResult<((LinkSpec, LinkSpec), u64)> {
    let resolved = resolved(text)?;
    let (specs, seed) = (specs(&resolved)?, resolved.seeds.first().copied().unwrap_or(1));
    Ok((specs, seed))
}

/// A resolved scenario.
pub(crate) fn resolved(text: &str) -> PyResult<Resolved> {
    let scenario = Scenario::parse(text).and_then(|s| s.resolve_with(registry(), &Files::none()));
    scenario.map_err(|e| crate::error::scenario(&e))
}

/// The first link of a path, and its way back.
pub(crate) fn specs(resolved: &Resolved) -> PyResult<(LinkSpec, LinkSpec)> {
    let wrong = |e: &str| ScenarioError::new_err(e.to_owned());
    let edge = resolved.path.edges.first().ok_or_else(|| wrong("`path` has no link"))?;
    let back = edge.back.as_ref().ok_or_else(|| wrong("`path` has no way back"))?;
    Ok(edge.link.specs(back))
}

#[cfg(target_os = "linux")]
fn parse(address: &str) -> PyResult<IpAddr> {
    address.parse().map_err(|_| {
        InputError::new_err(format!(
            "`{address}` is not an IP address: give one such as `192.0.2.1` or `2001:db8::1`"
        ))
    })
}

#[cfg(target_os = "linux")]
fn method(ttl: Option<u8>) -> ProbeMethod {
    ttl.map_or(ProbeMethod::Icmp, |ttl| ProbeMethod::Udp { ttl })
}

/// Runs `work` without the interpreter's lock, and calls `progress` from time to time.
#[cfg(target_os = "linux")]
fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(&ProbeProgress) -> ControlFlow<()>) -> Result<T, DriveError> + Send,
) -> PyResult<T> {
    let mut stopped_by = None;
    let mut report_progress = |p: &ProbeProgress| {
        Python::attach(|py| match py.check_signals().and_then(|()| call_progress(py, progress, p)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                stopped_by = Some(e);
                ControlFlow::Break(())
            }
        })
    };
    let found = py.detach(|| work(&mut report_progress));
    match (stopped_by, found) {
        // Ctrl-C is no failure: the results so far are returned.
        (Some(e), Ok(found)) if e.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(found),
        (Some(e), _) => Err(e),
        (None, found) => found.map_err(crate::error::drive),
    }
}

#[cfg(target_os = "linux")]
fn call_progress(py: Python<'_>, progress: Option<&Py<PyAny>>, p: &ProbeProgress) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    let progress_json = json!({
        "phase": phase(p.phase),
        "elapsed": p.elapsed.as_secs_f64(),
        "of": p.of.as_secs_f64(),
        "window": p.window_segs,
        "before": background(&p.background),
        "measured": p.measured.as_ref().map(measured),
    });
    progress.call1(py, (progress_json.to_string(),))?;
    Ok(())
}

#[cfg(target_os = "linux")]
fn phase(phase: ProbePhase) -> &'static str {
    match phase {
        ProbePhase::Before => "before",
        ProbePhase::Test => "test",
        ProbePhase::Drain => "drain",
        ProbePhase::Check => "check",
        ProbePhase::After => "after",
        ProbePhase::Done => "done",
    }
}

#[cfg(target_os = "linux")]
fn describe_real(found: &RealProbe, each: bool) -> Value {
    let mut described = describe(&found.report, each);
    described["interrupted"] = json!(found.interrupted);
    described["answered_by"] = json!(
        found.answered_by.map(|(from, several)| json!({ "address": from.to_string(), "several": several }))
    );
    described["overflowed"] = json!(found.overflowed);
    described["foreign"] = json!(found.foreign);
    described
}

fn describe(r: &ProbeReport, each: bool) -> Value {
    json!({
        "each_segment": each,
        "mss": r.mss,
        "headers": r.headers,
        "answered": r.answered,
        "gave_up": r.gave_up.is_some(),
        "measured": r.measured.as_ref().map(measured),
        "replies": { "late": r.replies.late, "again": r.replies.again, "unknown": r.replies.unknown, "not_sent": r.replies.not_sent },
        "before": background(&r.before),
        "during": background(&r.during),
        "after": background(&r.after),
        "limit": r.limit.map(|l| {
            let (sign, probes) = match l.sign {
                LimitSign::EvenReplies => ("even replies", None),
                LimitSign::NoneAtHalfRate { probes } => ("no loss at half the rate", Some(probes)),
            };
            json!({ "per_second": l.per_second, "sign": sign, "probes": probes })
        }),
    })
}

fn measured(m: &Measured) -> Value {
    json!({
        "after": m.after.as_secs_f64(),
        "slow_start_excluded": m.slow_start_excluded,
        "seconds": m.time.as_secs_f64(),
        "bytes_acked": m.bytes_acked,
        "segments_acked": m.segments_acked,
        "capacity": m.capacity(),
        "p": m.p(),
        "ca_events": m.ca_events,
        "non_ca_events": m.non_ca_events,
        "other_losses": m.other_losses,
        "timeouts": m.timeouts,
        "rtt_sampled": m.rtt_mean(),
        "sent": m.sent,
        "answered": m.answered,
        "rtt": distribution(&m.rtt),
        "held": m.held.as_secs_f64(),
        "rto": m.rto.as_secs_f64(),
    })
}

fn background(b: &Background) -> Value {
    json!({ "sent": b.sent, "answered": b.answered, "rtt": distribution(&b.rtt), "median_of_means": b.median_of_means() })
}

fn distribution(d: &Distribution) -> Value {
    json!({ "min": d.min(), "mean": d.mean(), "median": d.quantile(0.5), "p90": d.quantile(0.9), "p99": d.quantile(0.99), "max": d.max() })
}

pub(crate) fn counters(c: &LinkCounters) -> Value {
    json!({ "offered": c.offered, "served": c.served, "dropped_queue": c.queue_drops, "dropped_wire": c.fault_drops })
}
