//! Into what segments new data is cut, and how many copies of each are sent.

mod diversity;
mod full;
mod smart;

use crate::{Entry, Framing};

/// The built-in framings.
pub(crate) const ENTRIES: &[&Entry<dyn Framing>] = &[&full::ENTRY, &diversity::ENTRY, &smart::ENTRY];

#[cfg(test)]
mod tests;
