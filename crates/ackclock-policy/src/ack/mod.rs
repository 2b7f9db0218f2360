//! When a receiver acknowledges.

use crate::{Entry, AckPolicy};

/// The built-in ones.
pub(crate) const ENTRIES: &[&Entry<dyn AckPolicy>] = &[];
