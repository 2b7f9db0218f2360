//! When the retransmission timer is started, restarted and stopped.

mod heartbeat;
mod precise;
mod restart_on_ack;

pub(crate) use heartbeat::Heartbeat;

use crate::{Entry, RetransmissionTimer};

/// The built-in timers.
pub(crate) const ENTRIES: &[&Entry<dyn RetransmissionTimer>] = &[&restart_on_ack::ENTRY, &precise::ENTRY];
