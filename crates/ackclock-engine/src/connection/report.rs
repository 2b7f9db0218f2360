//! What a host reports of a connection to its application (`TCP_INFO`), beside what policies see.

use ackclock_policy::Phase;
use ackclock_units::{Bytes, Duration, Rate, SeqNumber};

use super::Connection;

/// Segments that are outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outstanding {
    /// Sent and not cumulatively acknowledged.
    pub segments: u32,
    /// Of those, reported as received by SACK, or by duplicate acks.
    pub sacked: u32,
    /// Taken for lost; those that were retransmitted too.
    pub lost: u32,
    /// Retransmitted, neither acknowledged nor taken for lost again, and counted as in the network.
    pub retransmitted: u32,
}

impl Connection {
    /// Counts what is outstanding, by looking at all of it.
    pub fn outstanding(&self) -> Outstanding {
        let (sender, sent) = (&*self.sender, &self.sender.sent);
        let mut counts = Outstanding::default();
        for segment in sent.segments_from(self.first_unacked()) {
            counts.segments += 1;
            counts.sacked += u32::from(segment.sacked);
            counts.lost += u32::from(sent.counts_lost(segment.range.start));
            counts.retransmitted += u32::from(sent.counts_retransmission(segment.range.start));
        }
        if !self.sack_on {
            counts.sacked = (sender.dup_acks.delivered / self.smss.max(1)).min(counts.segments);
        }
        counts
    }

    /// The rate at which the congestion window paces; `None` if it does not.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.sender.pacer.as_ref().map(|pacer| pacer.rate())
    }

    /// The timeout in force, backoff included.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Timeouts in a row that were backed off.
    pub fn backoff_level(&self) -> u32 {
        self.backoff_level
    }

    /// Window probes and keepalives without a response.
    pub fn unanswered_probes(&self) -> u32 {
        self.rare.unanswered_probes + self.rare.keepalives
    }

    /// True when both sides scale their windows (RFC 7323 §2.2).
    pub fn scales_windows(&self) -> bool {
        self.peer_scales && self.config.window_scaling
    }

    /// Shifts of the windows that the peer advertises and of ours (RFC 7323 §2.3).
    pub fn window_shifts(&self) -> (u8, u8) {
        (self.snd_wnd_shift, self.rcv_wnd_shift)
    }

    /// True when ECN is in use (RFC 3168 §6.1.1).
    pub fn uses_ecn(&self) -> bool {
        self.rare.is_some_and(|r| r.ecn.is_on())
    }

    /// The next sequence number that is sent (RFC 9293 §3.3.1).
    pub fn snd_nxt(&self) -> SeqNumber {
        self.snd_nxt
    }

    /// True when the FIN has left.
    pub fn has_sent_fin(&self) -> bool {
        self.fin_sent
    }

    /// The next sequence number that is expected of the peer (RFC 9293 §3.3.1).
    pub fn rcv_nxt(&self) -> SeqNumber {
        self.rcv_nxt
    }

    /// True while data above a gap has arrived.
    pub fn has_gap(&self) -> bool {
        self.receive.has_gap()
    }

    /// What the peer may still send into the window that was advertised last, bytes.
    pub fn open_window(&self) -> u32 {
        self.rcv_adv.bytes_since(self.rcv_nxt)
    }

    /// While a [`Reduction`](ackclock_policy::Reduction) decides how much is sent: what is in the network and
    /// what may be added to it now, bytes.
    pub fn repair_window(&self) -> Option<Bytes> {
        let spread = matches!(self.phase, Phase::Recovery | Phase::Cwr) && self.sender.has_reduction();
        spread.then(|| u64::from(self.pipe()) + self.sender.quota)
    }

    /// The segment size that it announces, bytes.
    pub fn announced_mss(&self) -> u32 {
        self.config.mss
    }
}
