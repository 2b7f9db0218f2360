//! What the sender of a direction has sent.

use std::collections::VecDeque;

use ackclock_units::{Duration, Instant, SeqNumber};

use super::copies::Copies;
use super::on_purpose::Copied;
use super::unseen::Unseen;
use crate::outstanding::Outstanding;
use crate::thresholds::THRESHOLDS;

/// What the sender of a direction has sent.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(super) outstanding: Outstanding,
    /// Ranges missing from the capture so far.
    pub(super) holes: Vec<Hole>,
    /// When data was last sent.
    pub(super) sent_at: Option<Instant>,
    /// When its timer last fired since progress.
    pub(super) expired_at: Option<Instant>,
    pub(super) probe: Probe,
    /// Counts cumulative acks: expiries without progress between them have the same number.
    pub(super) chain: u32,
    pub(super) timestamps: Timestamps,
    pub(super) rounds: Rounds,
    /// Some segment had an identification.
    pub(crate) identified: bool,
    pub(crate) copies: Copies,
    pub(super) copied: Copied,
    pub(super) syn_replies: SynReplies,
    pub(super) unseen: Unseen,
}

/// A range that was skipped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hole {
    pub start: u64,
    pub end: u64,
    /// The packet that skipped it.
    pub at: Instant,
    pub id: u16,
    pub tsval: Option<u32>,
}

/// The latest tail loss probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    pub at: Option<Instant>,
    /// It covers everything below this; `None` once it was acknowledged.
    pub end: Option<u64>,
    /// It was a retransmission, not new data.
    pub repeats: bool,
}

/// Timestamps of the latest segments.
#[derive(Debug, Default)]
pub(super) struct Timestamps {
    /// The first segment with each timestamp.
    pub recent: VecDeque<Stamped>,
    pub last: Option<u32>,
    /// The timestamp of the SYN before the latest, if that was sent again. The echo of it may come in the reply
    /// to a later one (a receiver does not take the timestamp of what it has, RFC 7323 §4.3).
    pub syn_again: Option<u32>,
}

/// A segment with its timestamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamped {
    pub tsval: u32,
    /// When it was seen, and whether it had data.
    pub at: Instant,
    pub data: bool,
    /// What the latest with this timestamp acknowledged, and the window that it offered, not scaled.
    pub ack: SeqNumber,
    pub window: u16,
}

/// The largest flight of the last round trip and of the current one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// The round trip ends when this is acknowledged.
    pub end: u64,
    pub flight: u64,
    pub last_flight: u64,
}

/// How it replies to SYNs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SynReplies {
    /// When the other end's latest SYN without a reply was seen.
    pub syn_at: Option<Instant>,
    /// How long its first reply took.
    pub usual: Option<Duration>,
}

impl Sent {
    /// Called when a SYN to this end was seen.
    pub(crate) fn syn_came(&mut self, at: Instant) {
        self.syn_replies.syn_at = Some(at);
    }

    /// Called when it sends a SYN-ACK.
    pub(crate) fn syn_ack_sent(&mut self, at: Instant) {
        if let Some(asked) = self.syn_replies.syn_at.take() {
            self.syn_replies.usual.get_or_insert(at.since(asked));
        }
    }

    /// True if a SYN-ACK at this moment is the reply to a retransmitted SYN.
    pub(super) fn is_reply_to_repeated_syn(&self, at: Instant) -> bool {
        let by = THRESHOLDS.reaction;
        self.syn_replies.syn_at.zip(self.syn_replies.usual).is_some_and(|(asked, usual)| {
            at.since(asked) <= usual.mul_f64(by.syn_ack_factor) + by.syn_ack_margin
        })
    }
}
