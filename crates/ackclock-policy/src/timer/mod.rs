//! When the retransmission timer is started, restarted and stopped.

mod heartbeat;
mod precise;
mod quic_pto;
mod restart_on_ack;
mod rto_restart;

pub(crate) use heartbeat::Heartbeat;

use crate::{Entry, RetransmissionTimer};

/// The built-in timers.
pub(crate) const ENTRIES: &[&Entry<dyn RetransmissionTimer>] =
    &[&restart_on_ack::ENTRY, &precise::ENTRY, &rto_restart::ENTRY, &quic_pto::ENTRY];
