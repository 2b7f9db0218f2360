//! Counters of one connection.

mod troubles;

use std::num::NonZeroU64;
use std::ops::{Deref, DerefMut};

use ackclock_units::{Count, Duration, Instant, since};

pub use troubles::TroubleCounts;
use troubles::Troubles;

/// When something happened, if it did, in eight bytes rather than sixteen.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment(Option<NonZeroU64>);

impl Moment {
    /// The instant; `None` when it has not come.
    pub fn get(self) -> Option<Instant> {
        self.0.map(|n| Instant::from_nanos(n.get() - 1))
    }

    /// It is `now`, unless it was earlier.
    pub(crate) fn come(&mut self, now: Instant) {
        self.0 = self.0.or(NonZeroU64::new(now.as_nanos().saturating_add(1)));
    }
}

impl std::fmt::Debug for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// The shortest of some times, if there was one, in eight bytes rather than sixteen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shortest(Duration);

impl Shortest {
    /// It; `None` when there was none.
    pub fn get(self) -> Option<Duration> {
        (self.0 != Duration::MAX).then_some(self.0)
    }

    pub(crate) fn take_in(&mut self, time: Duration) {
        self.0 = self.0.min(time);
    }
}

impl Default for Shortest {
    fn default() -> Self {
        Self(Duration::MAX)
    }
}

impl std::fmt::Debug for Shortest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// Counters of one connection, kept whether tracing is on or off. Those of what goes wrong, in
/// [`TroubleCounts`], read as its own.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stats {
    /// Segments sent, all kinds.
    pub segments_sent: u64,
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes that the peer acknowledged cumulatively.
    pub bytes_acked: u64,
    /// Full-sized-equivalent segments acknowledged (the denominator of M-U1's p): data segments cumulatively
    /// acknowledged.
    pub segments_acked: u64,
    /// Segments accepted.
    pub segments_received: u64,
    /// Payload bytes delivered in order.
    pub bytes_received: u64,
    /// Segments with payload that brought nothing new (B-A4 seen from the receiver).
    pub duplicate_segments: u64,
    /// Round-trip samples taken.
    pub rtt_samples: u64,
    /// Their sum.
    pub rtt_sum: Duration,
    /// The smallest.
    pub rtt_min: Shortest,
    /// The largest.
    pub rtt_max: Duration,
    /// When the handshake was complete.
    pub established_at: Moment,
    /// When both sides were closed, or the connection was aborted.
    pub closed_at: Moment,
    /// What has gone wrong.
    troubles: Troubles,
}

impl Deref for Stats {
    type Target = TroubleCounts;

    #[inline]
    fn deref(&self) -> &TroubleCounts {
        &self.troubles
    }
}

impl DerefMut for Stats {
    #[inline]
    fn deref_mut(&mut self) -> &mut TroubleCounts {
        &mut self.troubles
    }
}

impl Stats {
    /// What was counted since `before`, an earlier state of the same counters. The smallest and largest
    /// round-trip time and the moments stay: see
    /// [`Connection::forget_rtt_extremes`](crate::Connection::forget_rtt_extremes).
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        since!(Self { self, before }
            counted {
                segments_sent, data_segments_sent, bytes_sent, bytes_acked, segments_acked, segments_received,
                bytes_received, duplicate_segments, rtt_samples, rtt_sum, troubles,
            }
            kept { rtt_min, rtt_max, established_at, closed_at }
            set {}
        )
    }
}

impl Count for Stats {
    fn since(&self, before: &Self) -> Self {
        Self::since(self, before)
    }
}
