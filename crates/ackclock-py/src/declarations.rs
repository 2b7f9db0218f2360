//! The declarations of everything that has parameters, as JSON; the timeouts that a backoff yields; the
//! intervals of a rate control.

use ackclock_engine::{OPTIONS, PRESETS, Stack};
use ackclock_policy::{Backoff, Declaration, Expiry, KINDS, MODIFIERS, Param, ParamKind, RateControl};
use ackclock_trace::TABLES;
use ackclock_units::{Duration, Rng};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::checked::declared;
use crate::error;
use crate::registry::registry;

/// The declarations of everything that a scenario can name: `policies` (of the registry; faults, workloads,
/// sizes and arrivals too), each with kind, name, meaning, source and parameters; `options` of a connection;
/// `presets` and `modifiers` of stacks. A JSON object.
#[pyfunction]
pub fn declarations() -> String {
    let declared = declared();
    let presets = PRESETS.iter().map(|p| {
        let settings: Vec<_> = p.settings().collect();
        json!({ "name": p.name, "about": p.about, "source": p.source, "settings": settings })
    });
    let modifiers = MODIFIERS.iter().map(|m| json!({ "name": m.name, "usage": m.usage, "about": m.about }));
    let of_stacks: Vec<_> = Stack::kinds().collect();
    let kinds = KINDS.iter().map(|k| {
        let of_stacks = of_stacks.contains(&k.name);
        json!({ "name": k.name, "title": k.title, "of_stacks": of_stacks })
    });
    json!({
        "kinds": Value::from_iter(kinds),
        "policies": Value::from_iter(declared.iter().map(declaration)),
        "options": Value::from_iter(OPTIONS.iter().map(param)),
        "presets": Value::from_iter(presets),
        "modifiers": Value::from_iter(modifiers),
    })
    .to_string()
}

fn declaration(d: &Declaration) -> Value {
    let params = Value::from_iter(d.params.iter().map(param));
    json!({ "kind": d.kind, "name": d.name, "about": d.about, "source": d.source, "params": params })
}

fn param(p: &Param) -> Value {
    let (kind, words): (_, &[&str]) = match p.kind {
        ParamKind::Bytes => ("size", &[]),
        ParamKind::Duration => ("time", &[]),
        ParamKind::Rate => ("rate", &[]),
        ParamKind::Ratio => ("ratio", &[]),
        ParamKind::Count => ("count", &[]),
        ParamKind::Flag => ("flag", &[]),
        ParamKind::Choice(words) => ("choice", words),
        ParamKind::Queue => ("queue", &[]),
    };
    json!({ "name": p.name, "kind": kind, "default": p.default.to_string(), "words": words, "min": p.min, "max": p.max, "about": p.about })
}

/// The reference of all tables, Markdown.
#[pyfunction]
pub fn tables_reference() -> String {
    TABLES.iter().map(|t| t.to_markdown()).collect::<Vec<_>>().join("\n")
}

/// The timeouts, in nanoseconds, that the backoff `name` yields for `rto` (ns) at a packet's first
/// transmission and its first `rounds - 1` retransmissions, while it alone is in flight; with `syn` those of
/// a SYN. Raises `PolicyError` for an unknown policy or parameter.
#[pyfunction]
#[pyo3(signature = (name, params, rto, rounds, syn = false))]
pub fn backoff_schedule(
    name: &str,
    params: Vec<(String, String)>,
    rto: u64,
    rounds: u32,
    syn: bool,
) -> PyResult<Vec<u64>> {
    let mut chosen = registry().choose::<dyn Backoff>(name).map_err(error::policy)?;
    for (param, text) in &params {
        chosen.set(param, text).map_err(error::policy)?;
    }
    let rule = chosen.build();
    let (rto, mut rng, mut level) = (Duration::from_nanos(rto), Rng::stream(0, "backoff", 0), 0);
    let timeout = |expiries| {
        if syn {
            return rule.syn_timeout(rto, expiries, &mut rng);
        }
        let timeout = rule.timeout(rto, level, &mut rng);
        level = rule.level(&Expiry { expiries, level, flight_size: 1, smss: 1 });
        timeout
    };
    Ok((0..rounds).map(timeout).map(Duration::as_nanos).collect())
}

/// The intervals, in nanoseconds, that the rate control `name` leaves after each of `packets` packets (at
/// most a million), without congestion. Raises `PolicyError` for an unknown policy or parameter.
#[pyfunction]
pub fn rate_intervals(name: &str, params: Vec<(String, String)>, packets: u32) -> PyResult<Vec<u64>> {
    let mut chosen = registry().choose::<dyn RateControl>(name).map_err(error::policy)?;
    for (param, text) in &params {
        chosen.set(param, text).map_err(error::policy)?;
    }
    let mut rule = chosen.build();
    Ok((0..packets.min(1_000_000)).map(|_| rule.on_sent().as_nanos()).collect())
}
