//! Detection of spurious timeouts and retransmissions, and the sender's response to them.

mod dsack;
mod eifel;
mod f_rto;
mod linux;
mod none;
mod response;

use crate::{Entry, SpuriousTimeout};

/// The built-in undos.
pub(crate) const ENTRIES: &[&Entry<dyn SpuriousTimeout>] =
    &[&none::ENTRY, &eifel::ENTRY, &f_rto::ENTRY, &dsack::ENTRY, &linux::ENTRY];

#[cfg(test)]
mod episode_tests;
#[cfg(test)]
mod tests;
