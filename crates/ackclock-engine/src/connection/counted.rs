//! What of the window is in use: bytes without a FIN, or whole segments.

use ackclock_units::{Bytes, SeqRange, seldom};

use super::Connection;

impl Connection {
    /// What the outstanding data takes of the window, of which `pipe` bytes are in the network, a FIN among
    /// them.
    #[cold]
    pub(super) fn counted_pipe(&self, pipe: u32) -> u32 {
        let sender = &self.sender;
        if self.config.count_segments {
            let segments = sender.sent.segments_in_network();
            return segments.saturating_mul(self.smss).saturating_sub(sender.dup_acks.delivered);
        }
        pipe.saturating_sub(sender.sent.fins_in_network())
    }

    /// What `len` bytes take of the window, or of what may be sent. A FIN alone is a segment, too: RFC 5681 §3.1
    /// speaks of data, Linux 6.18 waits for room (`tcp_cwnd_test`).
    #[inline]
    pub(super) fn cost(&self, len: u32) -> Bytes {
        u64::from(if seldom(self.config.count_segments) { self.smss.max(len) } else { len })
    }

    /// Segments outstanding and not SACKed, where windows count segments.
    #[inline]
    pub(super) fn undelivered_segments(&self) -> u32 {
        if seldom(self.config.count_segments) { self.sender.sent.unsacked_segments() } else { 0 }
    }

    /// What an ack has delivered, `bytes` or whole segments, of `before` that were not delivered before it,
    /// and with what a DSACK reports as delivered twice (`tcp_dsack_seen`).
    #[inline]
    pub(super) fn counted_delivery(&self, bytes: u32, before: u32, dsack: Option<SeqRange>) -> Bytes {
        if seldom(self.config.count_segments) {
            let segments = before.saturating_sub(self.sender.sent.unsacked_segments());
            // No more duplicates than retransmissions: others are the network's, or the peer's.
            let credible = u64::from(self.sender.duplicates_reported) <= self.stats.retransmitted_segments;
            let again = dsack.filter(|_| credible).map_or(0, |range| range.len().div_ceil(self.smss));
            return u64::from(segments + again) * u64::from(self.smss);
        }
        bytes.into()
    }
}
