//! The functions that blocks may call.

use std::cmp::Ordering;

use super::format::{self, Format, PLAIN, truncated};
use super::number::Number;
use super::{Value, compare, literal};

/// The names of the functions, `print` among them.
pub(super) const FUNCTIONS: &[&str] =
    &["abs", "bool", "float", "hex", "int", "len", "max", "min", "print", "round", "str"];

/// The value of a function other than `print`.
pub(super) fn call(name: &str, arguments: &[Value]) -> Result<Value, String> {
    match (name, arguments) {
        ("min", _) => extreme(name, arguments, Ordering::Less),
        ("max", _) => extreme(name, arguments, Ordering::Greater),
        ("int", []) => Ok(Value::Int(0)),
        ("float", []) => Ok(Value::Float(0.0)),
        ("bool", []) => Ok(Value::Bool(false)),
        ("str", []) => Ok(Value::Str(String::new())),
        ("abs", [value]) => abs(value),
        ("bool", [value]) => Ok(Value::Bool(value.is_true())),
        ("str", [value]) => Ok(Value::Str(value.to_string())),
        ("float", [value]) => float(value),
        ("int", [value]) => int(value),
        ("int", [Value::Str(text), base]) => match base.int() {
            Some(base @ (0 | 2..=36)) => int_text(text, base as u32).map(Value::Int),
            _ => Err(format!("met {} as int's base; expected 0 or 2 to 36", base.described())),
        },
        ("hex", [value]) => match value.int() {
            Some(n) => Ok(Value::Str(format::int(&Format { kind: Some('x'), alternate: true, ..PLAIN }, n))),
            None => Err(format!("hex takes a whole number; met {}", value.described())),
        },
        ("len", [Value::Str(s)]) => Ok(Value::Int(s.chars().count() as i128)),
        ("len", [value]) => match value.items() {
            Some(items) => Ok(Value::Int(items.len() as i128)),
            None => Err(format!("len takes a string, a list or a tuple; met {}", value.described())),
        },
        ("round", [value]) | ("round", [value, Value::None]) => match value.number() {
            Some(Number::Float(x)) => truncated(Number::Float(x.round_ties_even())).map(Value::Int),
            Some(Number::Int(n)) => Ok(Value::Int(n)),
            None => Err(format!("round takes a number; met {}", value.described())),
        },
        ("round", [value, digits]) => match (value.number(), digits.int()) {
            (Some(Number::Float(x)), Some(digits)) => Ok(Value::Float(round_float(x, digits))),
            (Some(Number::Int(n)), Some(digits)) => round_int(n, digits).map(Value::Int),
            _ => {
                let (value, digits) = (value.described(), digits.described());
                Err(format!("round takes a number and a whole number; met {value} and {digits}"))
            }
        },
        _ => {
            let takes = match name {
                "round" => "one or two",
                "int" => "a value, or a string and a base",
                _ => "one",
            };
            Err(format!("met {} arguments of {name}; expected {takes}", arguments.len()))
        }
    }
}

/// `min` and `max`: the first of the arguments, or of one list, that no other one surpasses.
fn extreme(name: &str, arguments: &[Value], wanted: Ordering) -> Result<Value, String> {
    let items = match arguments {
        [one] => one.items().ok_or_else(|| {
            format!("{name} takes a list, a tuple or several values; met {}", one.described())
        })?,
        several => several,
    };
    let Some(mut best) = items.first() else {
        return Err(format!("met no values for {name}; expected one or more"));
    };
    for item in &items[1..] {
        let order = compare::order(item, best).map_err(|(a, b)| {
            format!("{name} compares numbers with numbers and strings with strings; met {a} and {b}")
        })?;
        if order == Some(wanted) {
            best = item;
        }
    }
    Ok(best.clone())
}

fn abs(value: &Value) -> Result<Value, String> {
    match value.number() {
        Some(Number::Int(n)) => n.checked_abs().map(Value::Int).ok_or_else(literal::too_large),
        Some(Number::Float(x)) => Ok(Value::Float(x.abs())),
        None => Err(format!("abs takes a number; met {}", value.described())),
    }
}

fn float(value: &Value) -> Result<Value, String> {
    let wrong = || Err(format!("float takes a number, or a string such as '1.5'; met {}", value.described()));
    let Value::Str(text) = value else {
        return value.number().map_or_else(wrong, |number| Ok(Value::Float(number.float())));
    };
    let text = text.trim();
    let (negative, magnitude) = signed(text);
    let parsed = match magnitude.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => Some(f64::INFINITY),
        "nan" => Some(f64::NAN),
        _ => literal::float(magnitude),
    };
    parsed.map_or_else(wrong, |x| Ok(Value::Float(if negative { -x } else { x })))
}

fn int(value: &Value) -> Result<Value, String> {
    match (value, value.number()) {
        (Value::Str(text), _) => int_text(text, 10).map(Value::Int),
        (_, Some(number)) => truncated(number).map(Value::Int),
        _ => Err(format!("int takes a number, or a string such as '10'; met {}", value.described())),
    }
}

/// A whole number from text. Base 0 stands for that of the prefix.
fn int_text(text: &str, base: u32) -> Result<i128, String> {
    let (negative, magnitude) = signed(text.trim());
    let prefixed = |prefix: &str| {
        let begins = magnitude.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        begins.then(|| magnitude[2..].strip_prefix('_').unwrap_or(&magnitude[2..]))
    };
    let bases = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().filter(|&(_, n)| base == 0 || base == n);
    let found = bases.filter_map(|(prefix, n)| Some((prefixed(prefix)?, n))).next();
    let plain = (magnitude, if base == 0 { 10 } else { base });
    let (digits, radix) = found.unwrap_or(plain);
    // Without a base, zeros before a number would be those of an octal one.
    let ambiguous =
        base == 0 && radix == 10 && digits.starts_with('0') && digits.contains(|c| !matches!(c, '0' | '_'));
    let parsed = match negative {
        _ if ambiguous => None,
        true => literal::negative(digits, radix)?,
        false => literal::int(digits, radix)?,
    };
    parsed.ok_or_else(|| {
        let met = Value::from(text).described();
        format!("int takes the digits of a whole number of base {base}; met {met}")
    })
}

/// Whether there is a minus, and what follows the sign.
fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(magnitude) => (true, magnitude),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Rounded to so many digits after the point, half to even; the float's exact value decides.
fn round_float(x: f64, digits: i128) -> f64 {
    if !x.is_finite() || x == 0.0 || digits > 400 {
        return x;
    }
    let exponent = format!("{x:e}").split_once('e').and_then(|(_, e)| e.parse::<i128>().ok()).unwrap_or(0);
    let significant = exponent.saturating_add(digits);
    let rounded = match usize::try_from(significant) {
        _ if digits >= 0 => format!("{x:.*}", digits as usize).parse(),
        Ok(significant) => format!("{x:.significant$e}").parse(),
        // At most half of the last digit's unit goes to 0, more goes to one.
        Err(_) if significant == -1 && above_half(x.abs(), exponent) => {
            format!("{}1e{}", if x < 0.0 { "-" } else { "" }, exponent + 1).parse()
        }
        Err(_) => Ok(0.0_f64.copysign(x)),
    };
    rounded.unwrap_or(x)
}

/// Whether a number of this decimal exponent is more than half of the next power of ten.
fn above_half(x: f64, exponent: i128) -> bool {
    format!("5e{exponent}").parse().is_ok_and(|half: f64| x > half)
}

/// Rounded to tens, hundreds and so on with negative digits, half to even.
fn round_int(n: i128, digits: i128) -> Result<i128, String> {
    if digits >= 0 {
        return Ok(n);
    }
    let digits = digits.checked_neg().and_then(|digits| u32::try_from(digits).ok());
    let Some(unit) = digits.and_then(|digits| 10_i128.checked_pow(digits)) else {
        return Ok(0);
    };
    let rest = n.rem_euclid(unit);
    let down = n.checked_sub(rest).ok_or_else(literal::too_large)?;
    let up = rest > unit - rest || (rest == unit - rest && down / unit % 2 != 0);
    if up { down.checked_add(unit).ok_or_else(literal::too_large) } else { Ok(down) }
}
