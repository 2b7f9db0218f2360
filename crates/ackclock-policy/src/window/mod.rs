//! Congestion windows.

mod adaptive_increase;
mod after_timeout;
mod bbr;
mod bbr1;
mod careful_resume;
mod constant_decrease;
mod copa;
mod cubic;
mod cubic_linux;
mod dctcp;
mod decay;
mod growth;
mod in_use;
mod initial;
mod ledbat_pp;
mod limited;
mod max_filter;
mod paced;
mod prague;
mod receiver_only;
mod reno;
mod standard;
mod vegas;
mod westwood;

use crate::{CongestionControl, Entry};

/// The built-in windows.
pub(crate) const ENTRIES: &[&Entry<dyn CongestionControl>] = &[
    &receiver_only::ENTRY,
    &reno::ENTRY,
    &cubic::ENTRY,
    &bbr::ENTRY,
    &bbr1::ENTRY,
    &dctcp::ENTRY,
    &prague::ENTRY,
    &vegas::ENTRY,
    &westwood::ENTRY,
    &ledbat_pp::ENTRY,
    &copa::ENTRY,
    &careful_resume::ENTRY,
    &constant_decrease::ENTRY,
    &adaptive_increase::ENTRY,
];

#[cfg(test)]
mod abe_tests;
#[cfg(test)]
mod cubic_tests;
#[cfg(test)]
mod tests;
