//! Congestion windows.

mod bbr;
mod bbr1;
mod cubic;
mod growth;
mod in_use;
mod initial;
mod limited;
mod max_filter;
mod paced;
mod receiver_only;
mod reno;

use crate::{CongestionControl, Entry};

/// The built-in windows.
pub(crate) const ENTRIES: &[&Entry<dyn CongestionControl>] =
    &[&receiver_only::ENTRY, &reno::ENTRY, &cubic::ENTRY, &bbr::ENTRY, &bbr1::ENTRY];

#[cfg(test)]
mod cubic_tests;
#[cfg(test)]
mod tests;
