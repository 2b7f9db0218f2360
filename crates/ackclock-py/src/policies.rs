//! The registry's declarations, as JSON, and the schedule of timeouts that a backoff rule makes.

use ackclock_engine::OPTIONS;
use ackclock_policy::{Backoff, Kind, Param, Registry};
use ackclock_units::{Duration, Rng};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error;

/// Every policy with its kind, meaning, source and parameters, and the options of a connection: a JSON object with `policies` and `options`.
#[pyfunction]
pub fn policies() -> String {
    let policies: Vec<Value> = Registry::builtin()
        .declarations()
        .iter()
        .map(|d| {
            let params: Vec<Value> = d.params.iter().map(param).collect();
            json!({ "kind": d.kind, "name": d.name, "about": d.about, "source": d.source, "params": params })
        })
        .collect();
    let options: Vec<Value> = OPTIONS.iter().map(param).collect();
    json!({ "policies": policies, "options": options }).to_string()
}

fn param(p: &Param) -> Value {
    let (kind, words): (_, &[&str]) = match p.kind {
        Kind::Bytes => ("size", &[]),
        Kind::Duration => ("time", &[]),
        Kind::Rate => ("rate", &[]),
        Kind::Ratio => ("ratio", &[]),
        Kind::Count => ("count", &[]),
        Kind::Flag => ("flag", &[]),
        Kind::Choice(words) => ("choice", words),
        Kind::Queue => ("queue", &[]),
    };
    json!({
        "name": p.name, "kind": kind, "default": p.default.to_string(), "words": words, "min": p.min, "max": p.max, "about": p.about,
    })
}

/// The timeouts, in nanoseconds, that the backoff rule `name` makes of `rto` (ns) for a packet's first transmission and its first `rounds - 1`
/// retransmissions; `syn` asks for those of a SYN. Raises `PolicyError` for a rule or a parameter that is not known.
#[pyfunction]
#[pyo3(signature = (name, params, rto, rounds, syn = false))]
pub fn backoff_schedule(name: &str, params: Vec<(String, String)>, rto: u64, rounds: u32, syn: bool) -> PyResult<Vec<u64>> {
    let mut chosen = Registry::builtin().choose::<dyn Backoff>(name).map_err(error::policy)?;
    for (param, text) in &params {
        chosen.set(param, text).map_err(error::policy)?;
    }
    let mut rule = chosen.build();
    let (rto, mut rng) = (Duration::from_nanos(rto), Rng::stream(0, "backoff", 0));
    let timeout = |expiries| if syn { rule.syn_timeout(rto, expiries, &mut rng) } else { rule.timeout(rto, expiries, &mut rng) };
    Ok((0..rounds).map(timeout).map(Duration::as_nanos).collect())
}
