//! Random conversations on two stacks, or on a stack and the kernel.

use std::ops::ControlFlow;
use std::time::{Duration as RealDuration, Instant as RealInstant};

use ackclock_script::differ::{Campaign, Hosts, Known, Measure, Progress, run};
use ackclock_script::{Dialect, EngineHost, Host};
use ackclock_units::Duration;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::PolicyError;
use crate::registry::registry;
use crate::script::dialect_named;

/// How often the caller sees the progress.
const REPORTED: RealDuration = RealDuration::from_secs(1);

/// What an engine is compared with that says `kernel`.
const KERNEL: &str = "kernel";

/// Runs random conversations on the stack `stack` of a dialect and on `against`, another stack or `kernel`,
/// and returns what differed, as JSON. `seconds`: none begins later. `tolerance`: ns by which times may
/// differ. `known`: causes that have an explanation, in which `*` stands for any text, with the explanations.
/// `sound`: the peer reports what has arrived, and never contradicts itself. `progress` is called now and then with the conversations run, those in which nothing differed, and the
/// causes found. The first run against the kernel must be in a process with a single thread, which may be
/// moved into a user namespace. Raises `PolicyError` where a stack is not known, `MissingRightError` if the
/// system does not permit it.
#[pyfunction]
#[pyo3(signature = (seed, count, seconds, jobs, against, dialect, stack, tolerance, known, sound = false, progress = None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub fn differ_scripts(
    py: Python<'_>,
    seed: u64,
    count: u64,
    seconds: Option<f64>,
    jobs: usize,
    against: &str,
    dialect: &str,
    stack: Option<String>,
    tolerance: u64,
    known: Vec<(String, String)>,
    sound: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let dialect = dialect_named(dialect)?;
    for stack in [stack.as_deref(), Some(against).filter(|a| *a != KERNEL)] {
        EngineHost::new(registry(), dialect, stack, SEED).map_err(|e| PolicyError::new_err(e.to_string()))?;
    }
    let real = against == KERNEL;
    let campaign = Campaign {
        seed,
        sound,
        count,
        time: seconds.map(RealDuration::from_secs_f64),
        jobs,
        // Nothing is left to chance in virtual time.
        confirm: if real { 3 } else { 1 },
        budget: if real { 150 } else { 2000 },
        lateness: Duration::from_millis(2),
        measure: Measure { tolerance: Duration::from_nanos(tolerance), tolerance_part: 8, windows: false },
        known: known.into_iter().map(|(cause, why)| Known { cause, why }).collect(),
    };
    let begun = RealInstant::now();
    let mut reported = begun;
    let mut report = |now: &Progress| {
        if let Some(progress) = progress.as_ref().filter(|_| reported.elapsed() >= REPORTED) {
            reported = RealInstant::now();
            let shown = (now.run, now.same, now.found.len());
            return Python::attach(|py| progress.call1(py, shown).map(drop));
        }
        Ok(())
    };
    let found = if real {
        against_kernel(py, &campaign, dialect, stack.as_deref(), &mut report)?
    } else {
        let host = |stack: Option<&str>| host(dialect, stack);
        let (first, second) = (|| host(stack.as_deref()), || host(Some(against)));
        let hosts = Hosts { first: &first, second: &second };
        let mut stopped_by = None;
        let found = py.detach(|| {
            run(&campaign, &hosts, &mut |now| {
                let asked = Python::attach(|py| py.check_signals()).and_then(|()| report(now));
                stopped_by = asked.err();
                if stopped_by.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        });
        if let Some(e) = stopped_by {
            return Err(e);
        }
        found.map_err(PolicyError::new_err)?
    };
    Ok(shown(&campaign, against, begun.elapsed(), &found).to_string())
}

/// The seed of what an engine draws by itself, which is little.
const SEED: u64 = 1;

fn host(dialect: Dialect, stack: Option<&str>) -> Result<Box<dyn Host>, String> {
    let host = EngineHost::new(registry(), dialect, stack, SEED).map_err(|e| e.to_string())?;
    Ok(Box::new(host))
}

/// A host that is compared with a real one: what that does against the standards, the dialect's own stack
/// does as well.
#[cfg(target_os = "linux")]
fn departing(dialect: Dialect, stack: Option<&str>) -> Result<Box<dyn Host>, String> {
    let mut host = EngineHost::new(registry(), dialect, stack, SEED).map_err(|e| e.to_string())?;
    if stack.is_none() {
        host.depart_from_standards().map_err(|e| e.to_string())?;
    }
    Ok(Box::new(host))
}

#[cfg(target_os = "linux")]
fn against_kernel(
    py: Python<'_>,
    campaign: &Campaign,
    dialect: Dialect,
    stack: Option<&str>,
    report: &mut (dyn FnMut(&Progress) -> PyResult<()> + Send),
) -> PyResult<Progress> {
    let mut stopped_by = None;
    let first = || departing(dialect, stack).map_err(ackclock_drive::DriveError::Input);
    let found = crate::kernels::in_namespaces(py, |go_on| {
        ackclock_drive::against_kernel(campaign, &first, &mut |now| {
            if let Err(e) = report(now) {
                stopped_by.get_or_insert(e);
                return ControlFlow::Break(());
            }
            go_on()
        })
    })?;
    stopped_by.map_or(Ok(found), Err)
}

/// Says that the system is another.
#[cfg(not(target_os = "linux"))]
fn against_kernel(
    _py: Python<'_>,
    _campaign: &Campaign,
    _dialect: Dialect,
    _stack: Option<&str>,
    _report: &mut (dyn FnMut(&Progress) -> PyResult<()> + Send),
) -> PyResult<Progress> {
    Err(crate::error::MissingRightError::new_err(
        "real packets need Linux (network namespaces and /dev/net/tun); simulations run everywhere",
    ))
}

fn shown(campaign: &Campaign, against: &str, lasted: RealDuration, found: &Progress) -> Value {
    let why = |pattern: &str| campaign.known.iter().find(|k| k.cause == pattern).map(|k| &k.why);
    let mut causes: Vec<_> = found.found.iter().collect();
    causes.sort_by_key(|(_, f)| std::cmp::Reverse(f.count));
    let mut explained: Vec<_> = found.explained.iter().collect();
    explained.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    json!({
        "seed": campaign.seed,
        "peer": if campaign.sound { "sound" } else { "random" },
        "against": against,
        "seconds": lasted.as_secs_f64(),
        "run": found.run,
        "same": found.same,
        "late": found.late,
        "timed": found.timed,
        "fleeting": found.fleeting,
        "explained": explained
            .iter()
            .map(|(cause, count)| json!({"cause": cause, "count": count, "why": why(cause)}))
            .collect::<Vec<_>>(),
        "found": causes
            .iter()
            .map(|(cause, f)| {
                json!({"cause": cause.to_string(), "count": f.count, "number": f.index, "script": f.script})
            })
            .collect::<Vec<_>>(),
    })
}
