//! What is kept of each retransmission and of each expiry.

use ackclock_units::{Duration, Instant, SeqNumber};

use crate::report::{Retransmission, TimedOut};

/// A retransmission, with what later verdicts on it depend on.
#[derive(Debug)]
pub(crate) struct RetransmissionRecord {
    pub row: Retransmission,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) tsval: Option<u32>,
    /// The previous retransmission of the same piece, by its place in the list.
    pub before: Option<u32>,
    /// The episode that it belongs to, by its place in the list.
    pub episode: Option<u32>,
    /// The expiry that caused it, by its place in the list.
    pub(super) expiry: Option<u32>,
    /// An ack has covered it.
    pub(super) covered: bool,
    /// A duplicate SACK has reported that it arrived twice.
    pub(super) dsacked: bool,
}

/// An expiry of the retransmission timer, or a probe that looks like one.
#[derive(Debug)]
pub(crate) struct ExpiryRecord {
    pub at: Instant,
    pub seq: SeqNumber,
    pub of: TimedOut,
    /// Its retransmission, by its place in the list.
    pub retransmission: u32,
    /// The episode that it belongs to, by its place in the list.
    pub episode: Option<u32>,
    /// Expiries without progress between them have the same number.
    pub chain: u32,
    /// Time since the latest event that may have set the timer.
    pub waited: Duration,
    /// The same if fast retransmissions do not restart it.
    pub waited_longer: Duration,
    pub probe: MaybeProbe,
    pub linux: LinuxWaits,
    pub state: ExpiryState,
    pub verdict: ExpiryVerdict,
}

/// Whether it was a tail loss probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaybeProbe {
    /// It may have been one.
    pub maybe: bool,
    /// Whether it was one is certain.
    pub certain: bool,
    /// No further probe can be sent: one was sent for what is outstanding, or SACK is not in use.
    pub no_other: bool,
    /// A sender that probes would have probed before.
    pub missing: bool,
    /// When a probe would have been due (RFC 8985 §7.2).
    pub pto: Option<Duration>,
}

/// What Linux's timers would have waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinuxWaits {
    pub probe: Duration,
    pub timeout: Duration,
    /// Round-trip samples behind them.
    pub samples: u32,
}

/// What its sender had sent and received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpiryState {
    /// A whole window was outstanding, and none of it was acknowledged or SACKed.
    pub outage: bool,
    /// Something sent later had been acknowledged or SACKed.
    pub news: bool,
    pub dup_acks: u32,
    /// Acks had already triggered a retransmission.
    pub repairing: bool,
    /// Segments outstanding.
    pub segments: u32,
    /// One past the highest coordinate sent.
    pub max: u64,
}

/// Whether a longer timer would have avoided it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpiryVerdict {
    pub eifel_spurious: Option<bool>,
    /// Why it is not certain.
    pub doubt: Option<&'static str>,
    /// Its copy was the first to arrive, by the echo of its timestamp.
    pub filled: bool,
    /// When it was acknowledged, and whether that fits the arrival of a copy.
    pub covered_at: Option<(Instant, bool)>,
}
