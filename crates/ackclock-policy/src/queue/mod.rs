//! Queues in front of links.

mod codel;
mod drop_tail;
mod drr;
mod dualpi2;
mod fifo;
mod flows;
mod fq;
mod fq_codel;
mod packets;
mod pie;
mod priority;
mod red;
mod sfq;
#[cfg(test)]
mod tests;

use crate::{Entry, QueueDiscipline};

/// The built-in queues.
pub(crate) const ENTRIES: &[&Entry<dyn QueueDiscipline>] = &[
    &drop_tail::ENTRY,
    &red::ENTRY,
    &codel::ENTRY,
    &fq_codel::ENTRY,
    &pie::ENTRY,
    &dualpi2::ENTRY,
    &fq::ENTRY,
    &drr::ENTRY,
    &sfq::ENTRY,
    &priority::ENTRY,
];
