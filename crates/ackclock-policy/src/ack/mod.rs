//! When a receiver acknowledges.

use crate::{AckPolicy, Entry};

/// The built-in ones.
pub(crate) const ENTRIES: &[&Entry<dyn AckPolicy>] = &[];
