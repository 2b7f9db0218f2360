//! Causes of differences that have an explanation.

use super::compare::Cause;

/// An explanation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// The cause, in which `*` stands for anything.
    pub cause: String,
    /// The reason, with what follows which RFC.
    pub why: String,
}

/// The explanation of a cause, where there is one.
pub fn explained<'a>(cause: &Cause, known: &'a [Known]) -> Option<&'a Known> {
    let text = cause.to_string();
    known.iter().find(|k| fits(&k.cause, &text))
}

/// True where the pattern, in which `*` stands for any text, is that of the whole text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut rest = rest;
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, does) in [
            ("ack missing", "ack missing", true),
            ("ack missing", "ack missing in CLOSED", false),
            ("ack*in CLOSED*", "ack extra in CLOSED after RST", true),
            ("*after RST", "ack extra in CLOSED after RST", true),
            ("*after RST", "ack extra in CLOSED after RST ahead", false),
            ("a*b*c", "abc", true),
            ("ab*b", "ab", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, text), does, "{pattern} {text}");
        }
    }
}
