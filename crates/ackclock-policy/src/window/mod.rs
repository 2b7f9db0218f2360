//! Congestion windows.

use crate::{Entry, CongestionControl};

/// The built-in ones.
pub(crate) const ENTRIES: &[&Entry<dyn CongestionControl>] = &[];
