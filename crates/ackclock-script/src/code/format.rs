//! How numbers and strings are laid out by a format such as `08.3f`.

use super::number::{Number, float_text, to_int};
use super::{MAX_SIZE, Value};

/// A format, of `%` or of an f-string.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Format {
    pub fill: char,
    /// `<`, `>`, `^`, or `=` for fill between sign and digits.
    pub align: Option<char>,
    /// `+` and a blank are put before numbers that are not negative.
    pub sign: char,
    /// `#`.
    pub alternate: bool,
    pub width: usize,
    /// `,` or `_` between thousands.
    pub grouping: Option<char>,
    pub precision: Option<usize>,
    /// The letter at the end.
    pub kind: Option<char>,
}

pub(super) const PLAIN: Format = Format {
    fill: ' ',
    align: None,
    sign: '-',
    alternate: false,
    width: 0,
    grouping: None,
    precision: None,
    kind: None,
};

/// Most digits after the point.
pub(super) const MAX_PRECISION: usize = 1000;

/// The format of a field of an f-string.
pub(super) fn parse(spec: &str) -> Result<Format, String> {
    let mut format = PLAIN;
    let mut rest = spec;
    let mut chars = spec.chars();
    let (first, second) = (chars.next(), chars.next());
    let is_align = |c: Option<char>| matches!(c, Some('<' | '>' | '^' | '='));
    let mut filled = false;
    if is_align(second) {
        format.fill = first.unwrap_or(' ');
        format.align = second;
        rest = chars.as_str();
        filled = true;
    } else if is_align(first) {
        format.align = first;
        rest = &rest[1..];
    }
    if rest.starts_with(['+', '-', ' ']) {
        format.sign = rest.chars().next().unwrap_or('-');
        rest = &rest[1..];
    }
    format.alternate = skips(&mut rest, "#");
    if skips(&mut rest, "0") {
        format.fill = if filled { format.fill } else { '0' };
        format.align = format.align.or(Some('='));
    }
    format.width = digits(&mut rest, MAX_SIZE)?.unwrap_or(0);
    if rest.starts_with([',', '_']) {
        format.grouping = rest.chars().next();
        rest = &rest[1..];
    }
    if skips(&mut rest, ".") {
        format.precision = digits(&mut rest, MAX_PRECISION)?;
        if format.precision.is_none() {
            return Err(format!("met the format `{spec}`; expected digits after the point"));
        }
    }
    let mut chars = rest.chars();
    format.kind = chars.next();
    let known = format.kind.is_none_or(|kind| "bdoxXeEfFgGs%".contains(kind));
    if !known || chars.next().is_some() {
        return Err(format!("met the format `{spec}`; expected one such as `d`, `#x`, `>8` or `.3f`"));
    }
    if format.grouping.is_some() && format.align == Some('=') {
        return Err(format!("met the format `{spec}`; expected thousands separated or filled, not both"));
    }
    Ok(format)
}

fn skips(rest: &mut &str, prefix: &str) -> bool {
    let after = rest.strip_prefix(prefix);
    *rest = after.unwrap_or(rest);
    after.is_some()
}

/// The number that the text begins with; text goes on behind it.
pub(super) fn digits(rest: &mut &str, most: usize) -> Result<Option<usize>, String> {
    let len = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (met, after) = rest.split_at(len);
    *rest = after;
    if met.is_empty() {
        return Ok(None);
    }
    match met.parse() {
        Ok(n) if n <= most => Ok(Some(n)),
        _ => Err(format!("met a width or precision of {}; expected at most {most}", &met[..len.min(20)])),
    }
}

/// A value in the format of an f-string's field.
pub(super) fn apply(format: &Format, value: &Value) -> Result<String, String> {
    let wrong = || {
        let kind = format.kind.map_or("this format".to_owned(), |kind| format!("the format `{kind}`"));
        Err(format!("{kind} does not take {}", value.described()))
    };
    match (value, value.number(), format.kind) {
        (Value::Str(s), _, None | Some('s')) if format.sign == '-' && !format.alternate => {
            let align =
                format.align.map(|align| if align == '=' && format.fill == '0' { '<' } else { align });
            if align == Some('=') || format.grouping.is_some() {
                wrong()
            } else {
                Ok(text(&Format { align, ..*format }, s))
            }
        }
        (_, Some(Number::Int(n)), None | Some('b' | 'd' | 'o' | 'x' | 'X')) if format.precision.is_none() => {
            Ok(int(format, n))
        }
        (_, Some(Number::Int(_)), None | Some('b' | 'd' | 'o' | 'x' | 'X')) => wrong(),
        (_, Some(number), None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%')) => {
            Ok(float(format, number.float()))
        }
        _ => wrong(),
    }
}

/// A string, cut off at the precision.
pub(super) fn text(format: &Format, text: &str) -> String {
    let cut = format.precision.and_then(|most| text.char_indices().nth(most));
    let text = cut.map_or(text, |(end, _)| &text[..end]);
    padded(format, "", text, '<')
}

/// A whole number in one of the bases. The precision is the least number of digits.
pub(super) fn int(format: &Format, n: i128) -> String {
    let magnitude = n.unsigned_abs();
    let (prefix, digits) = match format.kind {
        Some('b') => ("0b", format!("{magnitude:b}")),
        Some('o') => ("0o", format!("{magnitude:o}")),
        Some('x') => ("0x", format!("{magnitude:x}")),
        Some('X') => ("0X", format!("{magnitude:X}")),
        _ => ("", magnitude.to_string()),
    };
    let zeros = format.precision.unwrap_or(0).saturating_sub(digits.len());
    let digits = "0".repeat(zeros) + &digits;
    let decimal = prefix.is_empty();
    let digits = match format.grouping {
        Some(mark) => grouped(&digits, mark, if decimal { 3 } else { 4 }),
        None => digits,
    };
    let prefix = if format.alternate { prefix } else { "" };
    padded(format, &(sign(format, n < 0) + prefix), &digits, '>')
}

/// A float in one of the notations.
pub(super) fn float(format: &Format, x: f64) -> String {
    let magnitude = x.abs();
    let precision = format.precision.unwrap_or(6);
    let kind = format.kind.map(|kind| kind.to_ascii_lowercase());
    let body = match kind {
        _ if !x.is_finite() => float_text(magnitude),
        Some('f') => format!("{magnitude:.precision$}"),
        Some('e') => scientific(magnitude, precision),
        Some('%') => {
            let percent = magnitude * 100.0;
            if percent.is_finite() { format!("{percent:.precision$}") } else { "inf".to_owned() }
        }
        Some(_) => general(magnitude, precision, false, format.alternate),
        None if format.precision.is_none() => float_text(magnitude),
        None => {
            // Without a letter there is a digit after the point, for which there must be room.
            let body = general(magnitude, precision, true, false);
            if body.contains(['.', 'e']) { body } else { body + ".0" }
        }
    };
    let point = body.find(['.', 'e']).unwrap_or(body.len());
    let whole = &body[..point];
    let whole = match format.grouping {
        Some(mark) if x.is_finite() => grouped(whole, mark, 3),
        _ => whole.to_owned(),
    };
    let bare = format.alternate && x.is_finite() && !body.contains('.');
    let mut body = whole + if bare { "." } else { "" } + &body[point..];
    if format.kind.is_some_and(|kind| kind.is_ascii_uppercase()) {
        body.make_ascii_uppercase();
    }
    if kind == Some('%') {
        body.push('%');
    }
    padded(format, &sign(format, x.is_sign_negative() && !x.is_nan()), &body, '>')
}

/// `1.5e+00`.
fn scientific(x: f64, precision: usize) -> String {
    let text = format!("{x:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The one of both notations that suits the size, with so many digits. `fraction`: one of them must be after
/// the point. `zeros`: those at the end stay.
fn general(x: f64, precision: usize, fraction: bool, zeros: bool) -> String {
    let precision = precision.max(1);
    let limit = (precision - usize::from(fraction)) as i64;
    let rounded = scientific(x, precision - 1);
    let (digits, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let stripped = |digits: &str| match digits.contains('.') && !zeros {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    match exponent.parse::<i64>() {
        Ok(e) if e >= -4 && e < limit => {
            let decimals = (precision as i64 - 1 - e) as usize;
            stripped(&format!("{x:.decimals$}"))
        }
        _ => format!("{}e{exponent}", stripped(digits)),
    }
}

/// Digits in groups, counted from the right.
fn grouped(digits: &str, mark: char, size: usize) -> String {
    let mut out = String::new();
    for (i, c) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(size) {
            out.push(mark);
        }
        out.push(c);
    }
    out
}

fn sign(format: &Format, negative: bool) -> String {
    match (negative, format.sign) {
        (true, _) => "-".to_owned(),
        (false, '-') => String::new(),
        (false, sign) => sign.to_string(),
    }
}

/// Sign, prefix and body, filled up to the width.
fn padded(format: &Format, head: &str, body: &str, default: char) -> String {
    let missing = format.width.saturating_sub(head.chars().count() + body.chars().count());
    let fill = |n: usize| format.fill.to_string().repeat(n);
    match format.align.unwrap_or(default) {
        '<' => format!("{head}{body}{}", fill(missing)),
        '^' => format!("{}{head}{body}{}", fill(missing / 2), fill(missing - missing / 2)),
        '=' => format!("{head}{}{body}", fill(missing)),
        _ => format!("{}{head}{body}", fill(missing)),
    }
}

/// A number without its fraction, for formats and functions of whole numbers.
pub(super) fn truncated(number: Number) -> Result<i128, String> {
    match number {
        Number::Int(n) => Ok(n),
        Number::Float(x) => to_int(x).ok_or_else(|| {
            let x = float_text(x);
            format!("met {x}; expected a number that has a whole part of at most 128 bits")
        }),
    }
}
