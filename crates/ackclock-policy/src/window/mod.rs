//! Congestion windows.

use crate::{CongestionControl, Entry};

/// The built-in ones.
pub(crate) const ENTRIES: &[&Entry<dyn CongestionControl>] = &[];
