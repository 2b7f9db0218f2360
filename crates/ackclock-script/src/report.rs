//! How a script went, as a timeline.

use std::fmt::Write as _;

use ackclock_units::Instant;

use crate::world::seconds;

/// How a script went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Its events as far as it came.
    pub lines: Vec<Line>,
    /// Events that it has.
    pub events: usize,
    /// Why it stopped.
    pub failure: Option<Failure>,
    /// What has no effect, what was printed, what was sent and not expected.
    pub notes: Vec<String>,
    /// When its last event was over.
    pub ended: Instant,
}

/// An event beside what happened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Line {
    /// The line of the script.
    pub line: u32,
    /// When it happened.
    pub at: Option<Instant>,
    /// What the script says.
    pub expected: String,
    /// What happened, where that can differ.
    pub got: Option<String>,
}

/// Why a script failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The line of the script.
    pub line: u32,
    /// In words.
    pub why: String,
}

impl Outcome {
    pub(crate) fn new(events: usize) -> Self {
        Self { lines: Vec::new(), events, failure: None, notes: Vec::new(), ended: Instant::ZERO }
    }

    /// True when everything happened as the script says.
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }

    /// The last events before a failure, each with what happened instead where that differs.
    pub fn timeline(&self, events: usize) -> String {
        let mut text = String::new();
        let from = self.lines.len().saturating_sub(events);
        for (i, line) in self.lines.iter().enumerate().skip(from) {
            let failed = self.failure.is_some() && i + 1 == self.lines.len();
            let mark = if failed { "x" } else { " " };
            let at = line.at.map_or(String::new(), seconds);
            let _ = writeln!(text, "{mark} {:>4} {at:>12}  {}", line.line, line.expected);
            if let Some(got) = line.got.as_deref().filter(|got| failed || *got != line.expected)
                && failed
            {
                let _ = writeln!(text, "  {:>4} {:>12}  {got}   <- happened", "", "");
            }
        }
        text
    }
}
