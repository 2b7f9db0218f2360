//! What is kept of each segment that was sent again, and of each expiry.

use ackclock_units::{Duration, Instant, SeqNumber};

use crate::report::{Retransmission, TimedOut};

/// A retransmission with what is needed to judge it later.
#[derive(Debug)]
pub(crate) struct RetransmissionRecord {
    pub row: Retransmission,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) tsval: Option<u32>,
    /// The one before of the same piece.
    pub before: Option<u32>,
    pub episode: Option<u32>,
    pub(super) expiry: Option<u32>,
    /// An ack covered it, without telling that it was in vain.
    pub(super) covered: bool,
    /// A duplicate SACK told of it.
    pub(super) twice: bool,
}

/// An expiry of the retransmission timer, or a probe that looks like one.
#[derive(Debug)]
pub(crate) struct ExpiryRecord {
    pub at: Instant,
    pub seq: SeqNumber,
    pub of: TimedOut,
    /// Time since the timer was set, at the latest and without fast retransmissions.
    pub waited: Duration,
    pub waited_longer: Duration,
    /// Expiries without progress between them have the same number.
    pub chain: u32,
    /// It may have been a tail loss probe.
    pub maybe_probe: bool,
    /// Nothing is left open in that.
    pub certain: bool,
    pub again: u32,
    pub episode: Option<u32>,
    pub eifel_spurious: Option<bool>,
    /// Why that is not certain.
    pub doubt: Option<&'static str>,
    /// This copy was the first to arrive, by the echo of its timestamp.
    pub filled: bool,
    /// When it was acknowledged, and whether that was just when a copy arrived.
    pub covered_at: Option<(Instant, bool)>,
    pub outage: bool,
    /// Something sent later had been heard of.
    pub news: bool,
    pub dup_acks: u32,
    /// Some probe was sent for what is outstanding, or SACK is not in use.
    pub no_probe: bool,
    /// When a probe would have been due (RFC 8985 §7.2).
    pub pto: Option<Duration>,
    /// What had been sent.
    pub max: u64,
    /// Segments outstanding.
    pub outstanding: u32,
    /// Acks had called for a repair before.
    pub repairing: bool,
    /// A sender that probes would have probed first.
    pub unprobed: bool,
    /// What Linux's probe would have waited, and its timeout, after so many samples.
    pub probe_after: Duration,
    pub timeout_after: Duration,
    pub samples: u32,
}
