//! Waits for a retransmission timer, as they were and as they would have been.

use ackclock_units::{Duration, Instant};

use super::TimedOut;

/// The state of the path while a sender waited for its timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathState {
    /// Something sent later arrived, or the loss rate of the path explains the losses of the stall: packets
    /// were lost independently.
    Alive,
    /// Unknown: a single loss, or an outage that was over when the timer fired.
    #[default]
    Unknown,
    /// An outage: a whole window or several retransmissions in a row were lost.
    Dead,
}

impl PathState {
    /// The word in tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Unknown => "unknown",
            Self::Dead => "dead",
        }
    }
}

/// A wait for a retransmission timer, from a segment's first copy to its ack, with one timer or another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stalled {
    /// First copy of the segment.
    pub began: Instant,
    /// When its sender received the ack in the capture; `None` if it never did.
    pub ended: Option<Instant>,
    /// What was waited for.
    pub of: TimedOut,
    /// The state of the path.
    pub path: PathState,
    /// Expiries.
    pub timeouts: u64,
    /// Those of them with the ack already under way (Eifel).
    pub spurious: u64,
    /// Those of them before acks triggered the retransmission.
    pub early: u64,
    /// Time spent waiting for the timer when something was lost: the best estimate.
    pub waited: Duration,
    /// Its lower bound.
    pub waited_least: Duration,
    /// Its upper bound.
    pub waited_most: Duration,
    /// From the first copy to the ack.
    pub response: Option<Duration>,
}

/// What one timer would have done; the first of them is the sender as it ran.
#[derive(Clone, Debug, Default)]
pub struct WhatIf {
    /// Its name.
    pub timer: String,
    /// Sums of the stalls, and expiries outside of them.
    pub timeouts: u64,
    /// See [`Stalled`].
    pub spurious: u64,
    /// See [`Stalled`].
    pub early: u64,
    /// Most expiries in a row.
    pub rounds: u32,
    /// See [`Stalled`].
    pub waited: Duration,
    /// See [`Stalled`].
    pub waited_least: Duration,
    /// See [`Stalled`].
    pub waited_most: Duration,
    /// Bounds for the same transfer made again with this timer, with other losses at the same rate, in
    /// nineteen of twenty cases if losses are independent.
    pub rerun_least: Duration,
    /// See `rerun_least`.
    pub rerun_most: Duration,
    /// One by one, where this timer or the sender's own expired.
    pub stalls: Vec<Stalled>,
}
