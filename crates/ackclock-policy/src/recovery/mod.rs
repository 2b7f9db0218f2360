//! Which segments are taken for lost, and what is sent next while repairing.

use crate::{Entry, LossRecovery};

/// The built-in ones.
pub(crate) const ENTRIES: &[&Entry<dyn LossRecovery>] = &[];
