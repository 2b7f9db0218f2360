//! What the sender of a direction has received from its receiver.

use ackclock_units::{Duration, Instant, SeqNumber};

use crate::ranges::Ranges;

/// What the sender of a direction has received from its receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    /// What SACK blocks cover.
    pub(super) sacked: Ranges,
    /// The window that the receiver offers.
    pub(super) window: Option<u64>,
    /// Its scale is known.
    pub(super) scaled: bool,
    /// While it is not: the least scale with which what was under way fits into the window.
    pub(crate) least_scale: u8,
    /// When the last cumulative ack was seen.
    pub(super) advanced_at: Option<Instant>,
    /// When the last ack with news was seen (progress, a duplicate, a new SACK), and whether it was
    /// cumulative.
    pub(super) news_at: Option<Instant>,
    pub(super) news_advanced: bool,
    /// Duplicate acks since the last progress, and when the third was seen.
    pub(super) dup_acks: u32,
    pub(super) third_dup_at: Option<Instant>,
    /// Send time of the latest copy that is known to be delivered.
    pub(super) delivered_sent: Option<Instant>,
    /// Since when the oldest piece is known to be overtaken: something sent later was delivered.
    pub(super) overtaken_at: Option<Instant>,
    /// When data of the receiver's own was last seen.
    pub(super) data_at: Option<Instant>,
    /// Round-trip time by the echoed timestamp of the current ack.
    pub(crate) echo: Option<Duration>,
    /// What the segment whose timestamp it echoes had acknowledged, and the window in it, not scaled.
    pub(crate) echoed_ack: Option<(SeqNumber, u16)>,
    /// The latest timestamp that was echoed, when the first segment that had it was seen, and what it
    /// acknowledged.
    pub(super) echoed: Option<(u32, Instant, SeqNumber)>,
    pub(super) loss: LossReports,
}

/// When the receiver's acks reported a loss, by the timestamps of these acks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossReports {
    /// They do at the moment.
    pub reported: bool,
    /// The first of the latest run of acks that did.
    pub since: Option<u32>,
    /// The first ack after these that did not.
    pub until: Option<u32>,
    /// The latest ack that was cumulative or a third duplicate: the one that triggers a retransmission.
    pub repair_due: Option<u32>,
    /// That, and its receiver's timestamp when it first showed that it had it.
    pub had: Option<(u32, u32)>,
}

/// The largest window scale (RFC 7323 §2.3).
const MOST_SCALE: u8 = 14;

impl Heard {
    /// The window that the receiver offers, in bytes; `None` while that is unknown. A closed window has no
    /// scale.
    pub(super) fn room(&self) -> Option<u64> {
        self.window.filter(|w| self.scaled || *w == 0)
    }

    /// When the first segment with this timestamp was seen, and what it acknowledged, if it was echoed latest.
    pub(crate) fn echo_of(&self, tsecr: u32) -> Option<(Instant, SeqNumber)> {
        self.echoed.filter(|(tsval, ..)| *tsval == tsecr).map(|(_, at, ack)| (at, ack))
    }

    /// Takes how much was sent beyond the last ack, while the scale of the window is not known.
    pub(super) fn note_under_way(&mut self, flight: u64) {
        let Some(window) = self.window.filter(|w| *w > 0) else { return };
        while window << self.least_scale < flight && self.least_scale < MOST_SCALE {
            self.least_scale += 1;
        }
    }

    /// The receiver's window is zero.
    pub(crate) fn window_closed(&self) -> bool {
        self.window == Some(0)
    }

    /// The acks report no loss.
    pub(super) fn nothing_lost(&self) -> bool {
        self.dup_acks == 0 && self.sacked.is_empty()
    }
}
