//! How much longer a timeout gets when the same segment times out again.

use crate::{Entry, Backoff};

/// The built-in ones.
pub(crate) const ENTRIES: &[&Entry<dyn Backoff>] = &[];
