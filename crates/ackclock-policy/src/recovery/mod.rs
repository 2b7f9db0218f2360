//! Which segments are lost, and what is sent next while losses are repaired.

mod bounded;
mod counting;
mod duplicates;
mod early;
mod episode;
mod fack;
mod halving;
mod holes;
mod lost_retransmissions;
mod newreno;
mod rack;
mod reno;
mod sack;
mod sack_repair;
mod tahoe;
mod timeout_only;

use crate::{Entry, LossRecovery};

/// The built-in recoveries.
pub(crate) const ENTRIES: &[&Entry<dyn LossRecovery>] = &[
    &timeout_only::ENTRY,
    &tahoe::ENTRY,
    &reno::ENTRY,
    &newreno::ENTRY,
    &sack::ENTRY,
    &fack::ENTRY,
    &rack::ENTRY,
];

#[cfg(test)]
mod early_tests;
#[cfg(test)]
mod fack_tests;
#[cfg(test)]
mod tests;
