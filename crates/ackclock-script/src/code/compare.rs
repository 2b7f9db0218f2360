//! Comparisons of values.

use std::cmp::Ordering;

use super::Value;
use super::syntax::Comparison;

/// The answer of one comparison.
pub(super) fn compare(a: &Value, comparison: Comparison, b: &Value) -> Result<bool, String> {
    let order = |fits: fn(Ordering) -> bool| match order(a, b) {
        Ok(order) => Ok(order.is_some_and(fits)),
        Err((a, b)) => {
            let mark = comparison.mark();
            Err(format!("`{mark}` compares two numbers, strings, lists or tuples; met {a} and {b}"))
        }
    };
    match comparison {
        Comparison::Equal => Ok(equal(a, b)),
        Comparison::NotEqual => Ok(!equal(a, b)),
        Comparison::Less => order(Ordering::is_lt),
        Comparison::LessOrEqual => order(Ordering::is_le),
        Comparison::Greater => order(Ordering::is_gt),
        Comparison::GreaterOrEqual => order(Ordering::is_ge),
        Comparison::In => contains(a, b),
        Comparison::NotIn => contains(a, b).map(|found| !found),
        Comparison::Is => identical(a, b),
        Comparison::IsNot => identical(a, b).map(|same| !same),
    }
}

/// Whether Python's `==` holds: numbers of different types may be equal, others may not.
fn equal(a: &Value, b: &Value) -> bool {
    if let (Some(a), Some(b)) = (a.number(), b.number()) {
        return a.order(b) == Some(Ordering::Equal);
    }
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::None, Value::None) => true,
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        _ => false,
    }
}

/// The order of two values, `None` with a NaN; the error describes two that have none.
pub(super) fn order(a: &Value, b: &Value) -> Result<Option<Ordering>, (String, String)> {
    if let (Some(a), Some(b)) = (a.number(), b.number()) {
        return Ok(a.order(b));
    }
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => Ok(Some(a.cmp(b))),
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            match a.iter().zip(b).find(|(a, b)| !equal(a, b)) {
                Some((a, b)) => order(a, b),
                None => Ok(Some(a.len().cmp(&b.len()))),
            }
        }
        _ => Err((a.described(), b.described())),
    }
}

fn contains(item: &Value, within: &Value) -> Result<bool, String> {
    match (item, within) {
        (Value::Str(item), Value::Str(within)) => Ok(within.contains(item.as_str())),
        (_, Value::List(items) | Value::Tuple(items)) => Ok(items.iter().any(|i| equal(i, item))),
        _ => {
            let (item, within) = (item.described(), within.described());
            Err(format!("`in` looks into a list or a tuple, or for a string in one; met {item} and {within}"))
        }
    }
}

/// `is`, which has a meaning for None and booleans alone.
fn identical(a: &Value, b: &Value) -> Result<bool, String> {
    let single = |value: &Value| matches!(value, Value::None | Value::Bool(_));
    if single(a) || single(b) {
        return Ok(a == b);
    }
    let (a, b) = (a.described(), b.described());
    Err(format!("`is` compares with None, True or False; met {a} and {b}, which `==` compares"))
}
