//! Slow start: how a window below its threshold grows.

mod classic;
mod delivered;
mod hystart;
mod hystart_pp;
mod limited;

pub use classic::ClassicSlowStart;

use crate::{Entry, SlowStart};

/// The built-in slow starts.
pub(crate) const ENTRIES: &[&Entry<dyn SlowStart>] =
    &[&classic::ENTRY, &delivered::ENTRY, &hystart::ENTRY, &hystart_pp::ENTRY, &limited::ENTRY];
