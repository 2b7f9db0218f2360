//! What the sender of a direction heard.

use ackclock_units::{Duration, Instant};

use crate::ranges::Ranges;

/// What the sender of a direction heard from its receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    /// What SACK covers.
    pub(super) sacked: Ranges,
    /// The window that the receiver offers.
    pub(super) window: Option<u64>,
    /// When an ack moved forward last.
    pub(super) advanced_at: Option<Instant>,
    /// When an ack told anything new last, and whether that moved forward.
    pub(super) news_at: Option<Instant>,
    pub(super) news_advanced: bool,
    /// Duplicate acks since progress, and when the third came.
    pub(super) dup_acks: u32,
    pub(super) third_dup_at: Option<Instant>,
    /// Send time of the latest copy that is known to be delivered.
    pub(super) delivered_sent: Option<Instant>,
    /// Since when the oldest piece is known to have been overtaken.
    pub(super) overtaken_at: Option<Instant>,
    /// Round-trip time by the echo of a timestamp in the present ack.
    pub(super) echo: Option<Duration>,
    pub(super) loss: LossReports,
}

/// When the receiver's acks told of a loss, by the timestamps of these acks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossReports {
    /// They do at present.
    pub reported: bool,
    /// The first of the latest ones that did.
    pub since: Option<u32>,
    /// The first behind these that did not.
    pub until: Option<u32>,
    /// The latest that moved forward or was the third duplicate.
    pub repair_due: Option<u32>,
}

impl Heard {
    /// The receiver offers no room.
    pub(super) fn window_closed(&self) -> bool {
        self.window == Some(0)
    }

    /// It reports no loss.
    pub(super) fn nothing_lost(&self) -> bool {
        self.dup_acks == 0 && self.sacked.is_empty()
    }
}
