//! Congestion windows.

mod bbr;
mod cubic;
mod growth;
mod in_use;
mod initial;
mod max_filter;
mod receiver_only;
mod reno;

use crate::{CongestionControl, Entry};

/// The built-in windows.
pub(crate) const ENTRIES: &[&Entry<dyn CongestionControl>] =
    &[&receiver_only::ENTRY, &reno::ENTRY, &cubic::ENTRY, &bbr::ENTRY];

#[cfg(test)]
mod cubic_tests;
#[cfg(test)]
mod tests;
