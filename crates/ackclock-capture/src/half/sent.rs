//! What the sender of a direction did.

use std::collections::VecDeque;

use ackclock_units::{Duration, Instant};

use super::copies::Copies;
use super::on_purpose::Copied;
use crate::outstanding::Outstanding;
use crate::thresholds::THRESHOLDS;

/// What the sender of a direction did.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(super) outstanding: Outstanding,
    /// Stretches that the capture skipped so far.
    pub(super) holes: Vec<Hole>,
    /// When data was sent last.
    pub(super) sent_at: Option<Instant>,
    /// When its timer fired last, since progress.
    pub(super) expired_at: Option<Instant>,
    pub(super) probe: Probe,
    /// Counts acks that move forward: expiries without progress between them have the same number.
    pub(super) chain: u32,
    pub(super) timestamps: Timestamps,
    pub(super) rounds: Rounds,
    /// Some segment had an identification.
    pub(crate) identified: bool,
    pub(crate) copies: Copies,
    pub(super) copied: Copied,
    pub(super) syn_replies: SynReplies,
}

/// A stretch that was skipped.
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
    /// It is out for everything below; `None` once it was answered.
    pub end: Option<u64>,
    /// What it carried had been sent before.
    pub repeats: bool,
}

/// Timestamps of the latest segments.
#[derive(Debug, Default)]
pub(super) struct Timestamps {
    /// The first segment with each: timestamp, when it was seen, whether it had data.
    pub recent: VecDeque<(u32, Instant, bool)>,
    pub last: Option<u32>,
}

/// Most in flight in the last round trip and in this one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// The round trip ends when this is acknowledged.
    pub end: u64,
    pub flight: u64,
    pub last_flight: u64,
}

/// How it answers SYNs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SynReplies {
    /// When the other end's latest SYN was seen that it has not answered yet.
    pub syn_at: Option<Instant>,
    /// How long its first answer took.
    pub usual: Option<Duration>,
}

impl Sent {
    /// A SYN was seen that this end is to answer.
    pub(crate) fn syn_came(&mut self, at: Instant) {
        self.syn_replies.syn_at = Some(at);
    }

    /// It has sent a SYN-ACK.
    pub(crate) fn syn_ack_sent(&mut self, at: Instant) {
        if let Some(asked) = self.syn_replies.syn_at.take() {
            self.syn_replies.usual.get_or_insert(at.since(asked));
        }
    }

    /// True when a SYN-ACK at this moment answers a SYN that was retransmitted.
    pub(super) fn is_reply_to_repeated_syn(&self, at: Instant) -> bool {
        let by = THRESHOLDS.reaction;
        self.syn_replies.syn_at.zip(self.syn_replies.usual).is_some_and(|(asked, usual)| {
            at.since(asked) <= usual.mul_f64(by.syn_ack_factor) + by.syn_ack_margin
        })
    }
}
