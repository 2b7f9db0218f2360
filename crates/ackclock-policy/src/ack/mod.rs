//! When a receiver acknowledges.

mod bsd43;
mod delayed;
mod every;
mod misbehaving;

use crate::{AckPolicy, Entry};

/// The built-in acknowledgment policies.
pub(crate) const ENTRIES: &[&Entry<dyn AckPolicy>] =
    &[&every::ENTRY, &delayed::ENTRY, &bsd43::ENTRY, &misbehaving::ENTRY];

#[cfg(test)]
mod tests;
