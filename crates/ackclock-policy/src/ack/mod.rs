//! When a receiver acknowledges.

mod bsd43;
mod delayed;
mod every;
mod linux;
mod misbehaving;
mod offload;

use crate::{AckPolicy, Entry};

/// The built-in acknowledgment policies.
pub(crate) const ENTRIES: &[&Entry<dyn AckPolicy>] =
    &[&every::ENTRY, &delayed::ENTRY, &linux::ENTRY, &offload::ENTRY, &bsd43::ENTRY, &misbehaving::ENTRY];

#[cfg(test)]
mod tests;
