//! Numbers and strings as source text has them.

use super::token::{Kind, is_word};

/// The number that text begins with, and its length.
pub(super) fn number(text: &str) -> Result<(Kind<'_>, usize), String> {
    let word = text.find(|c: char| !is_word(c) && c != '.').unwrap_or(text.len());
    let sign = text[word..].starts_with(['+', '-']);
    let lower = text[..word].to_ascii_lowercase();
    // The sign of an exponent belongs to the number: `1e-3`.
    let end = if sign && !lower.starts_with("0x") && lower.ends_with('e') {
        let after = &text[word + 1..];
        word + 1 + after.find(|c: char| !is_word(c)).unwrap_or(after.len())
    } else {
        word
    };
    let met = &text[..end];
    let radix = match lower.get(..2) {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 10,
    };
    let kind = if radix != 10 {
        let digits = met[2..].strip_prefix('_').unwrap_or(&met[2..]);
        int(digits, radix)?.map(Kind::Int)
    } else if met.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        let zeros = met.bytes().all(|b| matches!(b, b'0' | b'_'));
        if met.starts_with('0') && !zeros {
            return Err(format!("met `{met}`; expected no zeros before a number, or 0o for an octal one"));
        }
        int(met, 10)?.map(Kind::Int)
    } else {
        float(met).map(Kind::Float)
    };
    match kind {
        Some(kind) => Ok((kind, end)),
        None => Err(format!("met `{}`; expected a number such as 10, 0x7fffffff or 1.5e3", brief(met))),
    }
}

/// A whole number without sign or prefix: `None` if these are no digits.
pub(super) fn int(digits: &str, radix: u32) -> Result<Option<i128>, String> {
    negative(digits, radix)?.map(|n| n.checked_neg().ok_or_else(too_large)).transpose()
}

/// The same with a minus before it.
pub(super) fn negative(digits: &str, radix: u32) -> Result<Option<i128>, String> {
    let Some(digits) = joined(digits, radix) else { return Ok(None) };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Ok(None);
    }
    let mut sum = 0_i128;
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        let next = sum.checked_mul(radix.into()).and_then(|n| n.checked_sub(digit.into()));
        sum = next.ok_or_else(too_large)?;
    }
    Ok(Some(sum))
}

/// A decimal number with a point or an exponent, without a sign.
pub(super) fn float(text: &str) -> Option<f64> {
    let digits = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    joined(text, 10).filter(|_| digits)?.parse().ok()
}

/// Without the underscores, each of which must be between digits.
fn joined(text: &str, radix: u32) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(|&b| char::from(b).is_digit(radix));
    let fits = |i: usize| bytes[i] != b'_' || (i > 0 && digit(i - 1) && digit(i + 1));
    (0..bytes.len()).all(fits).then(|| text.replace('_', ""))
}

pub(super) fn too_large() -> String {
    "the number needs more than 128 bits".to_owned()
}

/// The characters of a string literal, its escapes replaced.
pub(super) fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(i) = rest.find('\\') {
        out.push_str(&rest[..i]);
        rest = &rest[i + 1..];
        let Some(c) = rest.chars().next() else { break };
        let after = &rest[c.len_utf8()..];
        let plain = match c {
            'n' => Some("\n"),
            't' => Some("\t"),
            'r' => Some("\r"),
            'a' => Some("\x07"),
            'b' => Some("\x08"),
            'f' => Some("\x0c"),
            'v' => Some("\x0b"),
            '\\' => Some("\\"),
            '\'' => Some("'"),
            '"' => Some("\""),
            '\n' => Some(""),
            _ => None,
        };
        if let Some(plain) = plain {
            out.push_str(plain);
            rest = after;
            continue;
        }
        let (digits, radix, name) = match c {
            'x' => (2, 16, "\\x and two hexadecimal digits"),
            'u' => (4, 16, "\\u and four hexadecimal digits"),
            'U' => (8, 16, "\\U and eight hexadecimal digits of a character"),
            '0'..='7' => (rest.bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count(), 8, ""),
            'N' => return Err("met \\N; expected the character itself, or \\u and its number".to_owned()),
            '\r' if after.starts_with('\n') => {
                rest = &after[1..];
                continue;
            }
            // As in Python, other backslashes stay.
            _ => {
                out.push('\\');
                continue;
            }
        };
        let from = if radix == 16 { after } else { rest };
        let met = from.get(..digits).filter(|met| met.chars().all(|c| c.is_digit(radix)));
        let code = met.and_then(|met| u32::from_str_radix(met, radix).ok()).and_then(char::from_u32);
        let Some(c) = code else { return Err(format!("met an unfinished escape; expected {name}")) };
        out.push(c);
        rest = &from[digits..];
    }
    out.push_str(rest);
    Ok(out)
}

fn brief(text: &str) -> String {
    text.chars().take(40).collect()
}
