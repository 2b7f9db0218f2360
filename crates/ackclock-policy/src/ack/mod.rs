//! When a receiver acknowledges.

mod bsd43;
mod delayed;
mod every;

use crate::{AckPolicy, Entry};

/// The built-in ones.
pub(crate) const ENTRIES: &[&Entry<dyn AckPolicy>] = &[&every::ENTRY, &delayed::ENTRY, &bsd43::ENTRY];

#[cfg(test)]
mod tests;
