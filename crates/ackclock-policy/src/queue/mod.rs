//! Queues in front of links.

use crate::{Entry, QueueDiscipline};

/// The built-in ones.
pub(crate) const ENTRIES: &[&Entry<dyn QueueDiscipline>] = &[];
