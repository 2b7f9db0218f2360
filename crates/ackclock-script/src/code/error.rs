//! What is wrong with a block, and why a run ended early.

use std::fmt;

use super::Value;

/// A block that is not understood, or that cannot be evaluated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeError {
    /// The line within the block; the first is 1.
    pub line: usize,
    /// The character within the line; the first is 1.
    pub column: usize,
    /// What was met and what would do.
    pub message: String,
}

impl CodeError {
    /// An error at a byte of a block's text.
    pub(super) fn at(text: &str, place: usize, message: impl Into<String>) -> Self {
        let before = text.get(..place).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or(before);
        Self {
            line: 1 + before.matches('\n').count(),
            column: 1 + line.chars().count(),
            message: message.into(),
        }
    }
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for CodeError {}

/// A run that ended before the block's end.
#[derive(Clone, PartialEq, Debug)]
pub struct CodeFailure {
    /// What the block had printed until then.
    pub printed: Vec<String>,
    /// Why it ended.
    pub why: Why,
}

/// Why a run ended before the block's end.
#[derive(Clone, PartialEq, Debug)]
pub enum Why {
    /// An assertion does not hold.
    Assertion(Box<Assertion>),
    /// An expression has no value: an unknown name, a division by zero, operands of a wrong type.
    Evaluation(CodeError),
}

/// An assertion that does not hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Assertion {
    /// Its line within the block; the first is 1.
    pub line: usize,
    /// The condition as the block has it, on one line.
    pub condition: String,
    /// The message's value, if there is a message. One that cannot be evaluated is the error as a string.
    pub message: Option<Value>,
    /// The names in the condition and their values, in order of appearance.
    pub values: Vec<(String, Value)>,
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} does not hold", self.line, shortened(&self.condition))?;
        for (i, (name, value)) in self.values.iter().enumerate() {
            write!(f, "{} {name} is {}", if i == 0 { ":" } else { "," }, shortened(&value.repr()))?;
        }
        match &self.message {
            // Scripts often repeat what they compare: it is said already.
            Some(message) if self.values.iter().any(|(_, value)| value == message) => Ok(()),
            Some(message) => write!(f, " ({})", shortened(&message.to_string())),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assertion(assertion) => assertion.fmt(f),
            Self::Evaluation(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for CodeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl std::error::Error for CodeFailure {}

/// The beginning of a text that may be long.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Longest text or value within an error, in characters.
const LONGEST: usize = 200;
