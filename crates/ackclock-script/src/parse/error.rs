//! What is wrong with a script.

use std::fmt;

use winnow::error::{ContextError, StrContext, StrContextValue};

use super::MAX_SCRIPT;
use super::conditional::Misplaced;
use super::text::Lines;

/// A place where a script is not what it could be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The script.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// What stands there, and what was expected.
    pub message: String,
}

/// Labels what stands at the beginning of an event.
pub(crate) const BEGINNING: &str = "beginning";

/// What was expected, for errors.
pub(crate) fn expected(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

impl ParseError {
    pub(crate) fn new(file: &str, text: &str, lines: &Lines<'_>, at: usize, why: &ContextError) -> Self {
        // Blanks behind a token are skipped: what misses its end is on the line where it ended.
        let ended = text.get(..at).unwrap_or_default().trim_end().len();
        let begins = why.context().any(|c| matches!(c, StrContext::Label(BEGINNING)));
        let apart = text.get(ended..at).is_some_and(|blank| blank.contains('\n'));
        let at = if apart && !begins { ended } else { at };
        let (line, column) = lines.of(at);
        let wanted = why.context().find_map(|c| match c {
            StrContext::Expected(StrContextValue::Description(what)) => Some(*what),
            _ => None,
        });
        let rest = text.get(at..).unwrap_or_default();
        let shown: String = rest.lines().next().unwrap_or_default().trim_end().chars().take(24).collect();
        let found = match (rest.is_empty(), shown.is_empty()) {
            (true, _) => "the end of the script".to_owned(),
            (_, true) => "the end of the line".to_owned(),
            _ => format!("\"{shown}\""),
        };
        let message = format!("expected {}, found {found}", wanted.unwrap_or("something else"));
        Self { file: file.to_owned(), line, column, message }
    }

    pub(crate) fn misplaced(file: &str, text: &str, wrong: Misplaced) -> Self {
        let (line, column) = Lines::new(text).of(wrong.at);
        let found = text.get(wrong.at..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let found: String = found.trim_end().chars().take(24).collect();
        let message = format!("expected {}, found \"{found}\"", wrong.expected);
        Self { file: file.to_owned(), line, column, message }
    }

    pub(crate) fn too_long(file: &str, len: usize) -> Self {
        let message = format!("expected a script of at most {MAX_SCRIPT} bytes, found {len} or more");
        Self { file: file.to_owned(), line: 1, column: 1, message }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}
