//! `'cwnd=%d' % cwnd`.

use super::format::{self, Format, PLAIN};
use super::{MAX_SIZE, Value};

/// The string with the values of a tuple, or one value, in place of its `%` fields.
pub(super) fn format(text: &str, values: &Value) -> Result<String, String> {
    let values = match values {
        Value::Tuple(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut next = values.iter();
    let mut out = String::new();
    let mut rest = text;
    while let Some(i) = rest.find('%') {
        out.push_str(&rest[..i]);
        rest = &rest[i + 1..];
        let format = field(&mut rest)?;
        if format.kind == Some('%') {
            out.push('%');
            continue;
        }
        let Some(value) = next.next() else {
            return Err(format!("met {}; expected one for each `%` field of the string", counted(values)));
        };
        out.push_str(&filled(&format, value)?);
        if out.len() > MAX_SIZE {
            return Err(format!("the string would be larger than {MAX_SIZE} bytes"));
        }
    }
    out.push_str(rest);
    if next.len() > 0 {
        let fields = values.len() - next.len();
        return Err(format!(
            "met {}; expected {fields}, one for each `%` field of the string",
            counted(values)
        ));
    }
    Ok(out)
}

fn counted(values: &[Value]) -> String {
    if values.len() == 1 { "1 value".to_owned() } else { format!("{} values", values.len()) }
}

/// What follows a `%`; the text goes on behind it.
fn field(rest: &mut &str) -> Result<Format, String> {
    let mut format = PLAIN;
    let (mut left, mut zero) = (false, false);
    loop {
        match rest.chars().next() {
            Some('-') => left = true,
            Some('0') => zero = true,
            Some('#') => format.alternate = true,
            Some('+') => format.sign = '+',
            Some(' ') if format.sign == '-' => format.sign = ' ',
            Some(' ') => {}
            _ => break,
        }
        *rest = &rest[1..];
    }
    format.width = format::digits(rest, MAX_SIZE)?.unwrap_or(0);
    if let Some(after) = rest.strip_prefix('.') {
        *rest = after;
        format.precision = Some(format::digits(rest, format::MAX_PRECISION)?.unwrap_or(0));
    }
    // Sizes of C are allowed and mean nothing.
    *rest = rest.strip_prefix(['h', 'l', 'L']).unwrap_or(rest);
    let Some(kind) = rest.chars().next() else {
        return Err("met a `%` at the end of a string; expected `%d`, `%s` or `%%`".to_owned());
    };
    if !"diuxXoeEfFgGcrs%".contains(kind) {
        return Err(format!("met `%{kind}`; expected %d, %x, %o, %f, %e, %g, %s, %r, %c or %%"));
    }
    *rest = &rest[1..];
    format.kind = Some(kind);
    let number = !"crs".contains(kind);
    format.align = Some(match (left, zero && number) {
        (true, _) => '<',
        (false, true) => '=',
        (false, false) => '>',
    });
    if zero && number && !left {
        format.fill = '0';
    }
    Ok(format)
}

fn filled(format: &Format, value: &Value) -> Result<String, String> {
    let kind = format.kind.unwrap_or('s');
    let wrong = |takes: &str| Err(format!("`%{kind}` takes {takes}; met {}", value.described()));
    match (kind, value.number()) {
        ('s', _) => Ok(format::text(format, &value.to_string())),
        ('r', _) => Ok(format::text(format, &value.repr())),
        ('d' | 'i' | 'u', Some(number)) => Ok(format::int(format, format::truncated(number)?)),
        ('d' | 'i' | 'u', None) => wrong("a number"),
        ('x' | 'X' | 'o', _) => match value.int() {
            Some(n) => Ok(format::int(format, n)),
            None => wrong("a whole number"),
        },
        ('c', _) => match (value, value.int().and_then(|n| u32::try_from(n).ok()).and_then(char::from_u32)) {
            (Value::Str(s), _) if s.chars().count() == 1 => Ok(format::text(format, s)),
            (_, Some(c)) => Ok(format::text(format, &c.to_string())),
            _ => wrong("one character or its number"),
        },
        (_, Some(number)) => Ok(format::float(format, number.float())),
        _ => wrong("a number"),
    }
}
