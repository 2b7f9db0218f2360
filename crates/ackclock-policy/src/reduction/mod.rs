//! How much is sent while a loss is repaired.

mod at_once;
mod prr;

use crate::{Entry, Reduction};

/// The built-in reductions.
pub(crate) const ENTRIES: &[&Entry<dyn Reduction>] = &[&at_once::ENTRY, &prr::ENTRY];
