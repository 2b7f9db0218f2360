//! Queues in front of links.

mod drop_tail;
mod fifo;
mod red;
#[cfg(test)]
mod tests;

use crate::{Entry, QueueDiscipline};

/// The built-in queues.
pub(crate) const ENTRIES: &[&Entry<dyn QueueDiscipline>] = &[&drop_tail::ENTRY, &red::ENTRY];
