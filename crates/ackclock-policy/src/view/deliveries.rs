//! Which transmissions an ack reports as delivered, for time-based loss recovery (RFC 8985).

use ackclock_units::{Instant, SeqNumber};

/// One transmission of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmission {
    /// When.
    pub xmit_ts: Instant,
    /// End of the segment.
    pub end_seq: SeqNumber,
}

impl Transmission {
    /// True when this one was sent after `other`; of those sent at one moment, the higher number counts as
    /// later (RFC 8985 §6.2, RACK_sent_after()).
    pub fn is_after(self, other: Self) -> bool {
        (self.xmit_ts, self.end_seq) > (other.xmit_ts, other.end_seq)
    }
}

/// The transmissions of the segments that an ack was the first to report, cumulatively or by SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Deliveries {
    /// The latest of those sent once.
    pub sent_once: Option<Transmission>,
    /// The latest of those sent more than once, by their last transmission. Which of the transmissions
    /// arrived is not known.
    pub retransmitted: Option<Transmission>,
    /// End of the lowest of those sent once.
    pub lowest_sent_once: Option<SeqNumber>,
    /// The highest of those acknowledged cumulatively and not SACKed before, and whether it was sent once.
    pub highest_acked: Option<(Transmission, bool)>,
    /// The highest of those SACKed, and whether it was sent once.
    pub highest_sacked: Option<(Transmission, bool)>,
    /// The lowest of those SACKed and sent once.
    pub lowest_sacked_once: Option<Transmission>,
    /// By its timestamp echo, the ack was elicited by nothing sent after this moment.
    pub echoed: Option<Instant>,
    /// The ack had no payload and repeated number and window of the one before (RFC 5681 §2), whether or not
    /// anything is outstanding.
    pub repeats: bool,
}

impl Deliveries {
    /// Adds a delivered segment by its last transmission. `acked`: cumulatively, in order.
    pub fn add(&mut self, last: Transmission, sent_once: bool, acked: bool) {
        if acked {
            self.highest_acked = Some((last, sent_once));
            return self.add_any(last, sent_once);
        }
        if self.highest_sacked.is_none_or(|(t, _)| last.end_seq > t.end_seq) {
            self.highest_sacked = Some((last, sent_once));
        }
        if sent_once && self.lowest_sacked_once.is_none_or(|t| last.end_seq < t.end_seq) {
            self.lowest_sacked_once = Some(last);
        }
        self.add_any(last, sent_once);
    }

    fn add_any(&mut self, last: Transmission, sent_once: bool) {
        let latest = if sent_once { &mut self.sent_once } else { &mut self.retransmitted };
        if latest.is_none_or(|t| last.is_after(t)) {
            *latest = Some(last);
        }
        if sent_once && self.lowest_sent_once.is_none_or(|seq| last.end_seq < seq) {
            self.lowest_sent_once = Some(last.end_seq);
        }
    }
}
