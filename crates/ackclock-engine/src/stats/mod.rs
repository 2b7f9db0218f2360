//! Counters of one connection.

mod rare;

use std::num::NonZeroU64;
use std::ops::{Deref, DerefMut};

use ackclock_units::{Count, Duration, Instant, since};

use rare::LazyRareCounts;
pub use rare::RareCounts;

/// The instant of an event that may not have happened: an `Option<Instant>` in eight bytes instead of
/// sixteen.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct CompactInstant(Option<NonZeroU64>);

impl CompactInstant {
    /// The instant; `None` if the event has not happened.
    pub fn get(self) -> Option<Instant> {
        self.0.map(|n| Instant::from_nanos(n.get() - 1))
    }

    /// Sets it to `now`, unless it is set.
    pub(crate) fn set_once(&mut self, now: Instant) {
        self.0 = self.0.or(NonZeroU64::new(now.as_nanos().saturating_add(1)));
    }
}

impl std::fmt::Debug for CompactInstant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// The smallest of a series of durations: an `Option<Duration>` in eight bytes instead of sixteen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MinDuration(Duration);

impl MinDuration {
    /// The smallest duration; `None` without any.
    pub fn get(self) -> Option<Duration> {
        (self.0 != Duration::MAX).then_some(self.0)
    }

    /// Takes the minimum with `time`.
    pub(crate) fn update(&mut self, time: Duration) {
        self.0 = self.0.min(time);
    }
}

impl Default for MinDuration {
    fn default() -> Self {
        Self(Duration::MAX)
    }
}

impl std::fmt::Debug for MinDuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// Counters of one connection, kept with or without tracing. Those for losses and errors are in
/// [`RareCounts`], to which it dereferences.
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
    /// Data segments cumulatively acknowledged (the denominator of M-U1's p).
    pub segments_acked: u64,
    /// Acceptable segments received.
    pub segments_received: u64,
    /// Payload bytes delivered in order.
    pub bytes_received: u64,
    /// Segments received whose payload had all been received before (B-A4 seen from the receiver).
    pub duplicate_segments: u64,
    /// Round-trip samples taken.
    pub rtt_samples: u64,
    /// Sum of the round-trip samples.
    pub rtt_sum: Duration,
    /// Smallest round-trip sample.
    pub rtt_min: MinDuration,
    /// Largest round-trip sample.
    pub rtt_max: Duration,
    /// When the handshake was complete.
    pub established_at: CompactInstant,
    /// When both sides were closed, or the connection was aborted.
    pub closed_at: CompactInstant,
    /// Counters that stay zero on most connections.
    rare: LazyRareCounts,
}

impl Deref for Stats {
    type Target = RareCounts;

    #[inline]
    fn deref(&self) -> &RareCounts {
        &self.rare
    }
}

impl DerefMut for Stats {
    #[inline]
    fn deref_mut(&mut self) -> &mut RareCounts {
        &mut self.rare
    }
}

impl Stats {
    /// The counts since `before`, an earlier state of the same counters. The smallest and largest round-trip
    /// time and the instants are kept as they are: see
    /// [`Connection::reset_rtt_extremes`](crate::Connection::reset_rtt_extremes).
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        since!(Self { self, before }
            counted {
                segments_sent, data_segments_sent, bytes_sent, bytes_acked, segments_acked, segments_received,
                bytes_received, duplicate_segments, rtt_samples, rtt_sum, rare,
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
