//! The sender of a captured connection.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use ackclock_engine::Stack;
use ackclock_shadow::{Conversation, Difference, MinRto, ShadowError, Verdict, default_stacks};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::{InputError, SimulationError};
use crate::registry::registry;

/// Ranks `stacks` (all that are tried by default) by how well they explain what was sent in the capture at
/// `path`, from the first of `ends` to the second, or in the direction with the most data. Returns JSON. Raises
/// `InputError`.
#[pyfunction]
#[pyo3(signature = (path, ends = None, stacks = None))]
pub fn name_sender(
    py: Python<'_>,
    path: PathBuf,
    ends: Option<(String, String)>,
    stacks: Option<Vec<String>>,
) -> PyResult<String> {
    let end = |text: &str| {
        text.parse::<SocketAddr>().map_err(|_| {
            InputError::new_err(format!(
                "`{text}` is no end of a connection; expected one such as `192.0.2.1:443`"
            ))
        })
    };
    let ends = ends.map(|(from, to)| Ok::<_, PyErr>((end(&from)?, end(&to)?))).transpose()?;
    let found = py.detach(|| catch_unwind(AssertUnwindSafe(|| named(&path, ends, stacks))));
    let found = found.map_err(|_| {
        SimulationError::new_err(
            "a stack violated one of its own invariants (a panic) while it followed the capture; please report \
             it with the capture",
        )
    })?;
    found.map(|v| v.to_string()).map_err(|e| match e {
        ShadowError::Stack(e) => InputError::new_err(e.to_string()),
        e => InputError::new_err(format!("{}: {e}", path.display())),
    })
}

fn named(
    path: &Path,
    ends: Option<(SocketAddr, SocketAddr)>,
    stacks: Option<Vec<String>>,
) -> Result<Value, ShadowError> {
    let stacks = match stacks {
        Some(names) => names.iter().map(|name| Ok(Stack::named(registry(), name)?)).collect(),
        None => default_stacks(registry()),
    };
    let stacks = stacks?;
    let conversation = Conversation::read(path, ends)?;
    let verdict = ackclock_shadow::name_sender(&conversation, &stacks)?;
    Ok(described(&conversation, &verdict))
}

fn described(conversation: &Conversation, v: &Verdict) -> Value {
    let candidates = v.candidates.iter().map(|c| {
        let deviates = c.deviates.map(|d| {
            let (what, amount) = difference(d.what);
            json!({"packet": d.packet, "what": what, "amount": amount})
        });
        json!({"stack": c.stack, "window": c.window, "fit": c.fit, "behind": c.behind, "deviates": deviates})
    });
    json!({
        "from": conversation.from.to_string(),
        "to": conversation.to.to_string(),
        "cut": conversation.cut,
        "damage": conversation.damage,
        "rounds": v.rounds,
        "initial_window_segs": v.initial_segs,
        "paces": v.paces,
        "timeouts": v.timeouts,
        "min_rto": v.min_rto.map(minimum),
        "min_rto_unknown": v.no_minimum.map(|why| why.word()),
        "min_rto_at_most": v.at_most.map(|most| most.as_secs_f64()),
        "candidates": candidates.collect::<Vec<_>>(),
    })
}

fn minimum(found: MinRto) -> Value {
    let s = |d: ackclock_units::Duration| d.as_secs_f64();
    json!({"value": found.value.map(s), "low": s(found.low), "high": s(found.high), "timeouts": found.timeouts})
}

/// What a stack would have done otherwise: a word, and segments or seconds.
fn difference(what: Difference) -> (&'static str, Option<f64>) {
    match what {
        Difference::TooMuch(segments) => ("fewer", Some(segments)),
        Difference::TooLittle(segments) => ("more", Some(segments)),
        Difference::Late(late) => ("earlier", Some(late.as_secs_f64())),
        Difference::Unexplained => ("no retransmission", None),
        Difference::NoProbe => ("probe", None),
        Difference::Timer(later) => ("timer", Some(later)),
    }
}
