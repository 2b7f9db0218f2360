//! Words that stand for others: `--define=COOKIE=a1b2`.

use std::collections::BTreeMap;

/// Words that every script has, as packetdrill's runner of scripts gives them: the Fast Open cookie (RFC 7413
/// §4.1.2) that the key a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4 makes for 192.0.2.1 at 192.168.0.1.
const BUILT_IN: &[(&str, &str)] = &[("TFO_COOKIE", "3021b9d889017eeb")];

/// How much longer than it is written a script may become.
const MAX_GROWTH: usize = 1 << 20;

/// The definitions in the flags of a script, beside those that are given. Quotes around a value come off where it is
/// one word.
pub(crate) fn definitions(text: &str, given: &[(String, String)]) -> BTreeMap<String, String> {
    let inside = text.lines().map(str::trim).filter_map(|line| {
        let text = line.strip_prefix("--define=")?;
        // A name alone stands for itself.
        let (name, value) = text.split_once('=').unwrap_or((text, text));
        (!value.contains('`')).then(|| (name.to_owned(), value.trim().to_owned()))
    });
    let own = BUILT_IN.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    own.chain(given.iter().cloned()).chain(inside).collect()
}

/// The text with every defined word replaced that stands outside of texts, commands, assertions and comments. `None`
/// where it would become too long.
pub(crate) fn replaced(text: &str, definitions: &BTreeMap<String, String>) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let opaque = opaque(rest);
        let len = match opaque {
            // A flag keeps the names that it defines.
            Some(len) => len,
            None if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            None => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(len);
        match definitions.get(piece).filter(|_| opaque.is_none()) {
            Some(value) => out.push_str(value),
            None => out.push_str(piece),
        }
        if out.len() > text.len() + MAX_GROWTH {
            return None;
        }
        rest = after;
    }
    Some(out)
}

/// What is left as it is, by its beginning and its end.
const OPAQUE: &[(&str, &str)] =
    &[("--", "\n"), ("//", "\n"), ("/*", "*/"), ("\"", "\""), ("`", "`"), ("%{", "}%")];

/// The length of what is left as it is, where the text begins with such.
pub(super) fn opaque(text: &str) -> Option<usize> {
    let (open, close) = OPAQUE.iter().find(|(open, _)| text.starts_with(open))?;
    Some(end(text, open, close))
}

fn end(text: &str, open: &str, close: &str) -> usize {
    let mut from = open.len();
    loop {
        let Some(at) = text[from..].find(close) else { return text.len() };
        let at = from + at;
        if close == "\"" && text[..at].ends_with('\\') {
            from = at + 1;
            continue;
        }
        return at + close.len();
    }
}
