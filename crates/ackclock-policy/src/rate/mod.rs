//! How fast a source without a window sends.

mod additive;
mod constant_decrement;
mod interval;

use crate::{Entry, RateControl};

/// The built-in rate controls.
pub(crate) const ENTRIES: &[&Entry<dyn RateControl>] = &[&additive::ENTRY, &constant_decrement::ENTRY];

#[cfg(test)]
mod tests;
