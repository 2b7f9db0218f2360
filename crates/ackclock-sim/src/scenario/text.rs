//! Keys and values as TOML text.

use std::fmt::Write as _;

use ackclock_policy::{Params, Value};

/// A text as a TOML string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A key, in quotes if needed.
pub(super) fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if bare { name.to_owned() } else { quoted(name) }
}

/// A parameter's value.
pub(super) fn value(v: Value) -> String {
    match v {
        // A ratio without a fraction is an integer in TOML, which is read as the same ratio.
        Value::Ratio(_) | Value::Flag(_) => v.to_string(),
        Value::Count(n) if i64::try_from(n).is_ok() => v.to_string(),
        _ => quoted(&v.to_string()),
    }
}

/// A parameter's value given as text: without quotes if it is a TOML boolean or number.
pub(super) fn literal(text: &str) -> String {
    let number = |x: f64| x.is_finite() && x.to_string() == text;
    let bare = matches!(text, "true" | "false")
        || text.parse::<i64>().is_ok_and(|n| n.to_string() == text)
        || text.parse().is_ok_and(number);
    if bare { text.to_owned() } else { quoted(text) }
}

/// An inline table such as `{ kind = "x", a = 1 }`.
pub(super) fn inline(kind: Option<&str>, params: &Params) -> String {
    let kind = kind.map(|k| format!("kind = {}", quoted(k)));
    let params = params.iter().map(|(name, v)| format!("{name} = {}", value(v)));
    format!("{{ {} }}", kind.into_iter().chain(params).collect::<Vec<_>>().join(", "))
}
