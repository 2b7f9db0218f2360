//! Scripted tests, in virtual time or against the kernel.

use std::path::{Path, PathBuf};

use ackclock_script::ast::Script;
use ackclock_script::{
    DIALECTS, Dialect, EngineHost, IP_VERSIONS, Line, Link, Outcome, SettingsError, in_folder, parse,
};
use ackclock_units::Duration;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::{InputError, PolicyError};
use crate::registry::registry;

/// Runs the script `text`, which errors call `name`, and returns how it went as JSON. `folder`: where files
/// that its commands name are looked for. `defines`: words with what they stand for. `tolerance`: ns, or the
/// script's own. `world`: `engine`, in virtual time, or `kernel`, this machine's TCP in real time, for which
/// dialect, stack and seed mean nothing. `ip` and `mtu`, bytes: of the link, where the script does not say. `departs`: the engine departs from the standards where the
/// dialect's host does. The first run against the kernel must be in a process with a single thread, which may be moved into a user namespace. Raises `InputError` where the text is no script,
/// `PolicyError` where the stack or a setting is not known, `MissingRightError` if the system does not permit
/// it.
#[pyfunction]
#[pyo3(signature = (name, text, folder, dialect = "linux", stack = None, tolerance = None, seed = 1, defines = vec![], world = "engine", ip = None, mtu = None, departs = false))]
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
    world: &str,
    ip: Option<&str>,
    mtu: Option<u16>,
    departs: bool,
) -> PyResult<String> {
    let dialect = dialect_named(dialect)?;
    let tested = if world == "kernel" { Dialect::Linux } else { dialect };
    let defines: Vec<_> = tested.defines().into_iter().chain(defines).collect();
    let script = parse(name, text, &defines).map_err(|e| InputError::new_err(e.to_string()))?;
    let version = |name| IP_VERSIONS.iter().find(|(known, _)| *known == name).map(|(_, ip)| *ip);
    let ip = match ip.map(|name| (name, version(name))) {
        Some((name, None)) => {
            return Err(PolicyError::new_err(format!(
                "`{name}` is no version of IP; expected one of {}",
                script_ip_versions().join(", ")
            )));
        }
        given => given.and_then(|(_, ip)| ip),
    };
    let link = Link::of(&script, ip, mtu).map_err(|e| InputError::new_err(format!("{name}: {e}")))?;
    let place = |e: &dyn std::fmt::Display| PolicyError::new_err(format!("{name}: {e}"));
    let tolerance = tolerance.map(Duration::from_nanos);
    let outcome = match world {
        "engine" => py.detach(|| {
            let mut host =
                EngineHost::new(registry(), dialect, stack.as_deref(), seed).map_err(|e| place(&e))?;
            host.set_link(link);
            if departs {
                host.depart_from_standards().map_err(|e| place(&e))?;
            }
            ackclock_script::run(&script, &mut host, tolerance, &in_folder(&folder)).map_err(|e| place(&e))
        }),
        "kernel" => against_kernel(py, &script, link, tolerance, &folder)?.map_err(|e| place(&e)),
        world => {
            Err(PolicyError::new_err(format!("world `{world}` is not known; expected engine or kernel")))
        }
    }?;
    Ok(report(name, &outcome).to_string())
}

/// The dialect with that name.
pub(crate) fn dialect_named(name: &str) -> PyResult<Dialect> {
    DIALECTS.iter().find(|(known, _)| *known == name).map(|(_, dialect)| *dialect).ok_or_else(|| {
        let known: Vec<&str> = DIALECTS.iter().map(|(name, _)| *name).collect();
        PolicyError::new_err(format!("dialect `{name}` is not known; expected one of {}", known.join(", ")))
    })
}

/// Runs a script against the kernel, until it is done or Ctrl-C is pressed.
#[cfg(target_os = "linux")]
fn against_kernel(
    py: Python<'_>,
    script: &Script,
    link: Link,
    tolerance: Option<Duration>,
    folder: &Path,
) -> PyResult<Result<Outcome, SettingsError>> {
    crate::kernels::in_namespaces(py, |go_on| {
        ackclock_drive::run_script(script, link, tolerance, &in_folder(folder), go_on)
    })
}

/// Says that the system is another.
#[cfg(not(target_os = "linux"))]
fn against_kernel(
    _py: Python<'_>,
    _script: &Script,
    _link: Link,
    _tolerance: Option<Duration>,
    _folder: &Path,
) -> PyResult<Result<Outcome, SettingsError>> {
    Err(crate::error::MissingRightError::new_err(
        "real packets need Linux (network namespaces and /dev/net/tun); simulations run everywhere",
    ))
}

/// The dialects of scripts by their names.
#[pyfunction]
pub fn script_dialects() -> Vec<&'static str> {
    DIALECTS.iter().map(|(name, _)| *name).collect()
}

/// The versions of IP that scripts may run over, by their names.
#[pyfunction]
pub fn script_ip_versions() -> Vec<&'static str> {
    // One of them has a second name.
    IP_VERSIONS.iter().map(|(name, _)| *name).filter(|name| *name != "ipv4-mapped-ipv6").collect()
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
