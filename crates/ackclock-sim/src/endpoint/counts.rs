//! What a flow has counted, and what it had counted when its counting began.

use ackclock_engine::Stats;
use ackclock_units::{Bytes, Count, Duration, Instant, since};

/// What a flow has counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Of both ends.
    pub(crate) stats: [Stats; 2],
    /// Packets that its client has sent.
    pub(crate) sent: u64,
    /// Sent and delivered.
    pub(crate) datagram_bytes: [Bytes; 2],
    pub(crate) unneeded: [u64; 2],
    pub(crate) spurious_timeouts: [u32; 2],
    /// Responses, and the time that they took together.
    pub(crate) responses: (u32, Duration),
}

impl Count for Counts {
    fn since(&self, before: &Self) -> Self {
        since!(Self { self, before }
            counted { stats, sent, datagram_bytes, unneeded, spurious_timeouts, responses }
            kept {}
            set {}
        )
    }
}

/// The books of a flow when its counting began.
#[derive(Debug)]
pub(crate) struct Before {
    pub(crate) at: Instant,
    pub(crate) counts: Counts,
}
