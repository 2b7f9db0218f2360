//! Detection of spurious timeouts, and the sender's response to them.

mod eifel;
mod f_rto;
mod none;
mod response;

use crate::{Entry, SpuriousTimeout};

/// The built-in undos.
pub(crate) const ENTRIES: &[&Entry<dyn SpuriousTimeout>] = &[&none::ENTRY, &eifel::ENTRY, &f_rto::ENTRY];

#[cfg(test)]
mod tests;
