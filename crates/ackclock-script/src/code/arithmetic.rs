//! Operators on values.

use super::number::{Number, float_text, quotient};
use super::syntax::{Binary, Unary};
use super::{MAX_SIZE, Value, percent};

/// A sign, `~` or `not` before a value.
pub(super) fn unary(operator: Unary, value: &Value) -> Result<Value, String> {
    let mark = match operator {
        Unary::Not => return Ok(Value::Bool(!value.is_true())),
        Unary::Plus => '+',
        Unary::Minus => '-',
        Unary::Invert => '~',
    };
    match (value.number(), operator) {
        (Some(Number::Int(n)), Unary::Invert) => Ok(Value::Int(!n)),
        (Some(Number::Int(n)), Unary::Minus) => n.checked_neg().map(Value::Int).ok_or_else(too_large),
        (Some(Number::Int(n)), _) => Ok(Value::Int(n)),
        (Some(Number::Float(x)), Unary::Minus) => Ok(Value::Float(-x)),
        (Some(Number::Float(x)), Unary::Plus) => Ok(Value::Float(x)),
        (_, Unary::Invert) => Err(format!("`{mark}` takes a whole number; met {}", value.described())),
        _ => Err(format!("`{mark}` takes a number; met {}", value.described())),
    }
}

/// An operator between two values.
pub(super) fn binary(a: Value, operator: Binary, b: Value) -> Result<Value, String> {
    if let (Some(x), Some(y)) = (a.number(), b.number()) {
        return match (x, y) {
            (Number::Int(x), Number::Int(y)) => ints(&a, x, operator, &b, y),
            _ => floats(x.float(), operator, y.float()).unwrap_or_else(|| Err(misfit(&a, operator, &b))),
        };
    }
    match (a, operator, b) {
        (Value::Str(a), Binary::Add, Value::Str(b)) => Ok(Value::Str(a + &b)),
        (Value::List(a), Binary::Add, Value::List(b)) => Ok(Value::List(a.into_iter().chain(b).collect())),
        (Value::Tuple(a), Binary::Add, Value::Tuple(b)) => Ok(Value::Tuple(a.into_iter().chain(b).collect())),
        (Value::Str(a), Binary::Modulo, b) => percent::format(&a, &b).map(Value::Str),
        (a, Binary::Multiply, b) => match (a.int(), b.int()) {
            (None, Some(times)) => repeated(&a, times).unwrap_or_else(|| Err(misfit(&a, operator, &b))),
            (Some(times), None) => repeated(&b, times).unwrap_or_else(|| Err(misfit(&a, operator, &b))),
            _ => Err(misfit(&a, operator, &b)),
        },
        (a, _, b) => Err(misfit(&a, operator, &b)),
    }
}

/// A sequence several times; `None` if it is none.
fn repeated(sequence: &Value, times: i128) -> Option<Result<Value, String>> {
    let content = sequence.size() - 1;
    let times = if content == 0 { Some(0) } else { usize::try_from(times.max(0)).ok() };
    let times = times.filter(|&times| content.saturating_mul(times) <= MAX_SIZE);
    let too_large = || format!("the value would be larger than {MAX_SIZE} bytes or elements");
    let times = times.ok_or_else(too_large);
    let items = |items: &[Value], times| (0..times).flat_map(|_| items.iter().cloned()).collect();
    match sequence {
        Value::Str(s) => Some(times.map(|times| Value::Str(s.repeat(times)))),
        Value::List(list) => Some(times.map(|times| Value::List(items(list, times)))),
        Value::Tuple(tuple) => Some(times.map(|times| Value::Tuple(items(tuple, times)))),
        _ => None,
    }
}

fn ints(a: &Value, x: i128, operator: Binary, b: &Value, y: i128) -> Result<Value, String> {
    let bits = |ints: i128, bools: bool| match (a, b) {
        (Value::Bool(_), Value::Bool(_)) => Value::Bool(bools),
        _ => Value::Int(ints),
    };
    let result = match operator {
        Binary::Or => return Ok(bits(x | y, x | y != 0)),
        Binary::Xor => return Ok(bits(x ^ y, x ^ y != 0)),
        Binary::And => return Ok(bits(x & y, x & y != 0)),
        Binary::ShiftLeft | Binary::ShiftRight if y < 0 => {
            return Err(format!("shifted by {y} bits; expected 0 or more"));
        }
        Binary::ShiftLeft if x == 0 => Some(0),
        Binary::ShiftLeft => {
            u32::try_from(y).ok().and_then(|y| x.checked_shl(y).filter(|shifted| shifted >> y == x))
        }
        Binary::ShiftRight => Some(x >> y.min(127)),
        Binary::Add => x.checked_add(y),
        Binary::Subtract => x.checked_sub(y),
        Binary::Multiply => x.checked_mul(y),
        Binary::Divide | Binary::FloorDivide | Binary::Modulo if y == 0 => return Err(by_zero(operator)),
        Binary::Divide => return Ok(Value::Float(quotient(x, y))),
        Binary::FloorDivide => {
            x.checked_div(y).map(|down| down - i128::from(x.wrapping_rem(y) != 0 && (x < 0) != (y < 0)))
        }
        Binary::Modulo => {
            let rest = x.wrapping_rem(y);
            Some(if rest != 0 && (rest < 0) != (y < 0) { rest + y } else { rest })
        }
        Binary::Power if y < 0 => return power(x as f64, y as f64).map(Value::Float),
        Binary::Power => match x {
            1 => Some(1),
            0 | -1 if y > 1 => Some(if y % 2 == 0 { x * x } else { x }),
            _ => u32::try_from(y).ok().and_then(|y| x.checked_pow(y)),
        },
    };
    result.map(Value::Int).ok_or_else(too_large)
}

/// An operator between floats; `None` if it is for whole numbers only.
fn floats(x: f64, operator: Binary, y: f64) -> Option<Result<Value, String>> {
    let result = match operator {
        Binary::Add => x + y,
        Binary::Subtract => x - y,
        Binary::Multiply => x * y,
        Binary::Divide | Binary::FloorDivide | Binary::Modulo if y == 0.0 => {
            return Some(Err(by_zero(operator)));
        }
        Binary::Divide => x / y,
        Binary::FloorDivide => floor_division(x, y).0,
        Binary::Modulo => floor_division(x, y).1,
        Binary::Power => return Some(power(x, y).map(Value::Float)),
        _ => return None,
    };
    Some(Ok(Value::Float(result)))
}

/// The quotient without its fraction, rounded down, and the rest, which has the divisor's sign.
fn floor_division(x: f64, y: f64) -> (f64, f64) {
    let mut rest = x % y;
    let mut quotient = (x - rest) / y;
    if rest == 0.0 {
        rest = 0.0_f64.copysign(y);
    } else if (rest < 0.0) != (y < 0.0) {
        rest += y;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0_f64.copysign(x / y), rest);
    }
    // The difference was rounded: the quotient may be a little off a whole number.
    let down = quotient.floor();
    (if quotient - down > 0.5 { down + 1.0 } else { down }, rest)
}

fn power(x: f64, y: f64) -> Result<f64, String> {
    if x == 0.0 && y < 0.0 {
        return Err(by_zero(Binary::Power));
    }
    if x < 0.0 && x.is_finite() && y.is_finite() && y.fract() != 0.0 {
        let (x, y) = (float_text(x), float_text(y));
        return Err(format!("{x} ** {y} is no real number; expected a base of 0 or more"));
    }
    let result = libm::pow(x, y);
    if result.is_infinite() && x.is_finite() && y.is_finite() {
        return Err(format!("{} ** {} is larger than any float", float_text(x), float_text(y)));
    }
    Ok(result)
}

fn by_zero(operator: Binary) -> String {
    match operator {
        Binary::Power => "0 to a negative power; expected another base, or 0 or more".to_owned(),
        _ => format!("`{}` by zero; expected a divisor other than 0", operator.mark()),
    }
}

fn too_large() -> String {
    "the result needs more than 128 bits".to_owned()
}

fn misfit(a: &Value, operator: Binary, b: &Value) -> String {
    let takes = match operator {
        Binary::Or | Binary::Xor | Binary::And | Binary::ShiftLeft | Binary::ShiftRight => {
            "two whole numbers"
        }
        Binary::Add => "two numbers, strings, lists or tuples",
        Binary::Multiply => "two numbers, or a string, list or tuple and how often",
        Binary::Modulo => "two numbers, or a string and what to insert",
        _ => "two numbers",
    };
    format!("`{}` takes {takes}; met {} and {}", operator.mark(), a.described(), b.described())
}
