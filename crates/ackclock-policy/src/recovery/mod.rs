//! Which segments are taken for lost, and what is sent next while repairing.

mod counting;
mod course;
mod cut;
mod duplicates;
mod early;
mod fack;
mod halving;
mod holes;
mod newreno;
mod rack;
mod reno;
mod resent;
mod sack;
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
