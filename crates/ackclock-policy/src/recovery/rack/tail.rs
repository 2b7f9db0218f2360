use ackclock_units::{Bytes, Duration, Instant, SeqNumber, SeqRange};

use crate::recovery::course::new_data;
use crate::{AckInfo, Param, Params, Phase, ScoreboardView, SenderView};

/// TLP (RFC 8985 §7): when the acks for the end of a flight stay away, one more segment calls for them before
/// the retransmission timer expires.
#[derive(Debug)]
pub(super) struct Tail {
    on: bool,
    max_ack_delay: Duration,
    /// TLP.end_seq: a probe is out.
    end_seq: Option<SeqNumber>,
    /// TLP.is_retrans.
    is_retrans: bool,
    /// What was outstanding when it was sent.
    flight_size: Bytes,
    /// A probe of new data has been advised and is about to be sent.
    sending: bool,
    /// A round-trip time was measured since the last probe.
    sampled: bool,
}

impl Tail {
    /// Reads [`TLP`] and [`MAX_ACK_DELAY`].
    pub fn new(p: &Params) -> Self {
        let (on, max_ack_delay) = (p.flag("tlp"), p.duration("max_ack_delay"));
        Self {
            on,
            max_ack_delay,
            end_seq: None,
            is_retrans: false,
            flight_size: 0,
            sending: false,
            sampled: true,
        }
    }

    /// What may become of a probe is of no interest any more: the window has been reduced for a loss.
    pub fn forget(&mut self) {
        (self.end_seq, self.sending) = (None, false);
    }

    /// §7.2: true where an ack that stays away is waited for by nothing but the retransmission timer.
    pub fn is_watching(&self, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        self.on && v.flight_size > 0 && matches!(v.phase, Phase::Open | Phase::Cwr) && b.sacked().is_empty()
    }

    /// §7.2, TLP_calc_PTO(): when to probe. `None` when a probe could not be sent then (§7.3): one is out
    /// already, or no round-trip time was measured since the last one.
    pub fn pto(&self, b: &dyn ScoreboardView, v: &SenderView) -> Option<Instant> {
        let rtt = v.rtt.filter(|_| self.end_seq.is_none() && self.sampled)?;
        let single = b.segment(v.snd_una).is_some_and(|s| s.range.end >= v.snd_nxt);
        let at = v.now + rtt.srtt * 2 + if single { self.max_ack_delay } else { Duration::ZERO };
        Some(v.rto_deadline.map_or(at, |rto| at.min(rto)))
    }

    /// §7.3, TLP_send_probe(): new data if there is some and the receiver has room, or else the last segment
    /// again.
    pub fn probe(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
        if !self.is_watching(b, v) || self.end_seq.is_some() || !self.sampled {
            return None;
        }
        let range = match new_data(v) {
            Some(range) => range,
            None => b.segment(v.snd_nxt - 1)?.range,
        };
        self.is_retrans = range.start < v.snd_nxt;
        (self.flight_size, self.sampled) = (v.flight_size, false);
        if self.is_retrans {
            self.end_seq = Some(v.snd_nxt);
        } else {
            self.sending = true;
        }
        Some(range)
    }

    /// New data was sent. True when it was the probe.
    pub fn sent(&mut self, v: &SenderView) -> bool {
        let probe = std::mem::take(&mut self.sending);
        if probe {
            self.end_seq = Some(v.snd_nxt);
        }
        probe
    }

    /// §7.4.2, TLP_process_ack(). Answers what was outstanding when the probe was sent, if it turns out to
    /// have repaired a loss.
    pub fn take(&mut self, a: &AckInfo) -> Option<Bytes> {
        self.sampled |= a.rtt.is_some();
        let end_seq = self.end_seq.filter(|end_seq| a.ack >= *end_seq)?;
        // New data arrived, or both the segment and its copy did (case 1: DSACK; case 2: a duplicate ack of a
        // receiver that has no DSACK).
        let harmless = !self.is_retrans || a.dsack.is_some_and(|range| range.end == end_seq);
        if harmless || a.ack > end_seq || (a.deliveries.is_some_and(|d| d.repeats) && !a.has_sack) {
            self.end_seq = None;
        }
        (!harmless && a.ack > end_seq).then_some(self.flight_size)
    }
}

/// Probing.
pub(super) const TLP: Param = Param::flag(
    "tlp",
    true,
    "probe the tail of a flight before the retransmission timer expires (RFC 8985 7)",
);
/// TLP.max_ack_delay.
pub(super) const MAX_ACK_DELAY: Param = Param::duration(
    "max_ack_delay",
    Duration::from_millis(200),
    Duration::ZERO..=Duration::from_secs(1),
    "what a probe waits longer when a single segment is outstanding, whose ack may be delayed (RFC 8985 7.2)",
);
