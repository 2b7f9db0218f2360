//! When things are expected.

use ackclock_units::{Duration, Instant};

use crate::ast::When;

/// The moments at which something may happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    /// Nothing is looked at before.
    pub begin: Instant,
    /// The latest moment that the script names.
    pub end: Instant,
    tolerance: Duration,
    /// Any moment will do.
    any: bool,
}

impl Window {
    /// That of an event; `base` is the moment of the event before.
    pub(super) fn of(when: When, base: Instant, tolerance: Duration) -> Self {
        let absolute = |d: Duration| Instant::ZERO + d;
        let (begin, end, any) = match when {
            When::At(at) => (absolute(at), absolute(at), false),
            When::After(d) => (base + d, base + d, false),
            When::Within(from, to) => (absolute(from), absolute(to), false),
            When::AfterWithin(from, to) => (base + from, base + to, false),
            When::Any => (base, base, true),
        };
        Self { begin: begin.max(base), end: end.max(begin), tolerance, any }
    }

    /// That of the end of a call, which is relative where its beginning is.
    pub(super) fn until(when: When, until: When, base: Instant, tolerance: Duration) -> Self {
        let relative = matches!(when, When::After(_) | When::AfterWithin(..));
        let until = match until {
            When::At(d) if relative => When::After(d),
            other => other,
        };
        Self::of(until, base, tolerance)
    }

    /// One moment.
    pub(super) fn at(at: Instant, tolerance: Duration) -> Self {
        Self { begin: at, end: at, tolerance, any: false }
    }

    /// The same with a tolerance of at least this part of the time since `last`, ‰.
    pub(super) fn widened(mut self, last: Instant, per_mille: u64) -> Self {
        let part = self.begin.since(last).as_nanos() / 1000 * per_mille;
        self.tolerance = self.tolerance.max(Duration::from_nanos(part));
        self
    }

    /// How long something is waited for.
    pub(super) fn patience(&self, most: Duration) -> Instant {
        if self.any { self.end + most } else { self.end + self.tolerance }
    }

    /// Checks when `what` happened.
    pub(super) fn check(&self, at: Instant, what: &str) -> Result<(), String> {
        let early = at < self.begin.saturating_sub(self.tolerance);
        if self.any || (!early && at <= self.end + self.tolerance) {
            return Ok(());
        }
        let wanted = if self.begin == self.end {
            format!("at {}", seconds(self.begin))
        } else {
            format!("between {} and {}", seconds(self.begin), seconds(self.end))
        };
        Err(format!("{what} at {}, expected {wanted} (within {})", seconds(at), self.tolerance))
    }
}

/// A moment as scripts write it.
pub(crate) fn seconds(at: Instant) -> String {
    let us = at.as_nanos() / 1000;
    format!("{}.{:06} s", us / 1_000_000, us % 1_000_000)
}
