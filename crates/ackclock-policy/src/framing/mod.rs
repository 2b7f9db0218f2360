//! In what segments new data leaves, and how often each is sent.

mod diversity;
mod full;
mod smart;

use crate::{Entry, Framing};

/// The built-in framings.
pub(crate) const ENTRIES: &[&Entry<dyn Framing>] = &[&full::ENTRY, &diversity::ENTRY, &smart::ENTRY];

#[cfg(test)]
mod tests;
