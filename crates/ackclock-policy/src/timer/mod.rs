//! The countdown: when the retransmission timer is started, restarted and stopped.

use crate::{Entry, RetransmissionTimer};

/// The built-in ones.
pub(crate) const ENTRIES: &[&Entry<dyn RetransmissionTimer>] = &[];
