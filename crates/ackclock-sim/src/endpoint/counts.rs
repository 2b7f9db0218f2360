//! The counters of a flow, and their values when counting began.

use ackclock_engine::Stats;
use ackclock_policy::Playback;
use ackclock_units::{Bytes, Count, Duration, Instant, since};

/// The counters of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// The connection counters of both ends.
    pub(crate) stats: [Stats; 2],
    /// Packets sent by the client.
    pub(crate) sent: u64,
    /// Bytes of datagrams sent and delivered.
    pub(crate) datagram_bytes: [Bytes; 2],
    pub(crate) spurious_retransmissions: [u64; 2],
    pub(crate) spurious_timeouts: [u32; 2],
    /// Number of responses, and the sum of their times.
    pub(crate) responses: (u32, Duration),
    /// Of a client that plays a video.
    pub(crate) playback: Playback,
}

impl Count for Counts {
    fn since(&self, before: &Self) -> Self {
        since!(Self { self, before }
            counted { stats, sent, datagram_bytes, spurious_retransmissions, spurious_timeouts, responses, playback }
            kept {}
            set {}
        )
    }
}

/// The counters of a flow when counting began.
#[derive(Debug)]
pub(crate) struct Baseline {
    pub(crate) at: Instant,
    pub(crate) counts: Counts,
}
