//! The values of expressions.

use std::fmt::{self, Write};

use super::number::{Number, float_text};

/// A value, of the types that Python has for them. `==` compares type and content: for Rust, `Int(1)` is not
/// `Bool(true)`; in a block, they are equal.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A whole number.
    Int(i128),
    /// A number with a fraction.
    Float(f64),
    /// `True` or `False`.
    Bool(bool),
    /// A string.
    Str(String),
    /// `[a, b]`.
    List(Vec<Value>),
    /// `(a, b)`.
    Tuple(Vec<Value>),
    /// `None`.
    None,
}

impl Value {
    /// The value as Python's `repr` writes it: strings are in quotes.
    pub fn repr(&self) -> String {
        let mut out = String::new();
        self.write_repr(&mut out);
        out
    }

    /// Whether it counts as true in a condition.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Int(n) => *n != 0,
            Self::Float(x) => *x != 0.0,
            Self::Bool(b) => *b,
            Self::Str(s) => !s.is_empty(),
            Self::List(items) | Self::Tuple(items) => !items.is_empty(),
            Self::None => false,
        }
    }

    /// Python's name of its type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Bool(_) => "bool",
            Self::Str(_) => "str",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::None => "None",
        }
    }

    /// The number that it is; a boolean is 0 or 1.
    pub(super) fn number(&self) -> Option<Number> {
        match *self {
            Self::Int(n) => Some(Number::Int(n)),
            Self::Bool(b) => Some(Number::Int(b.into())),
            Self::Float(x) => Some(Number::Float(x)),
            _ => None,
        }
    }

    /// The whole number that it is; a boolean is 0 or 1.
    pub(super) fn int(&self) -> Option<i128> {
        match self.number() {
            Some(Number::Int(n)) => Some(n),
            _ => None,
        }
    }

    /// The elements of a list or tuple.
    pub(super) fn items(&self) -> Option<&[Value]> {
        match self {
            Self::List(items) | Self::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// How much memory it takes: bytes of strings and elements of lists, all levels together.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Str(s) => 1 + s.len(),
            Self::List(items) | Self::Tuple(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            _ => 1,
        }
    }

    /// How many lists are within one another.
    pub(super) fn depth(&self) -> usize {
        self.items().map_or(0, |items| 1 + items.iter().map(Self::depth).max().unwrap_or(0))
    }

    /// Type and value, for errors.
    pub(super) fn described(&self) -> String {
        let repr = self.repr();
        match self {
            Self::None => repr,
            _ if repr.chars().count() > 40 => {
                format!("{} {}...", self.type_name(), repr.chars().take(40).collect::<String>())
            }
            _ => format!("{} {repr}", self.type_name()),
        }
    }

    fn write_repr(&self, out: &mut String) {
        match self {
            Self::Str(s) => write_quoted(s, out),
            Self::List(items) => {
                out.push('[');
                write_items(items, out);
                out.push(']');
            }
            Self::Tuple(items) => {
                out.push('(');
                write_items(items, out);
                out.push_str(if items.len() == 1 { ",)" } else { ")" });
            }
            Self::Int(n) => {
                // Writing to a string does not fail.
                let _ = write!(out, "{n}");
            }
            Self::Float(x) => out.push_str(&float_text(*x)),
            Self::Bool(b) => out.push_str(if *b { "True" } else { "False" }),
            Self::None => out.push_str("None"),
        }
    }
}

/// The value as Python's `str` and `print` write it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Str(s) => f.write_str(s),
            _ => f.write_str(&self.repr()),
        }
    }
}

macro_rules! from_ints {
    ($($int:ty)+) => {
        $(impl From<$int> for Value {
            fn from(n: $int) -> Self {
                Self::Int(n.into())
            }
        })+
    };
}

from_ints!(i32 i64 i128 u8 u16 u32 u64);

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Self {
        Self::Float(x)
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Self::Str(s.to_owned())
    }
}

fn write_items(items: &[Value], out: &mut String) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        item.write_repr(out);
    }
}

/// A string in quotes; what cannot be printed is escaped.
fn write_quoted(s: &str, out: &mut String) {
    let quote = if s.contains('\'') && !s.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in s.chars() {
        let code = u32::from(c);
        let _ = match c {
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '\\' => out.write_str("\\\\"),
            c if c == quote => write!(out, "\\{c}"),
            ' '..='~' => out.write_char(c),
            // An escape is longer than the character.
            c if c.escape_debug().len() == 1 => out.write_char(c),
            _ if code <= 0xff => write!(out, "\\x{code:02x}"),
            _ if code <= 0xffff => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    out.push(quote);
}
