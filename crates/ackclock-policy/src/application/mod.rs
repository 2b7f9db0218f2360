//! What runs above a connection.

use crate::{Entry, Application};

/// The built-in ones.
pub(crate) const ENTRIES: &[&Entry<dyn Application>] = &[];
