use ackclock_units::{Bytes, Duration, Instant, SeqNumber, SeqRange};

use crate::recovery::episode::new_data;
use crate::{AckInfo, Param, Params, Phase, ScoreboardView, SenderView};

/// TLP (RFC 8985 §7): when the acks for the tail of a flight are missing, a probe elicits one before the
/// retransmission timer expires.
#[derive(Debug)]
pub(super) struct Tail {
    on: bool,
    max_ack_delay: Duration,
    pto_margin: Duration,
    /// The next probe waits for a sample.
    sample_first: bool,
    /// TLP.end_seq: a probe is out.
    end_seq: Option<SeqNumber>,
    /// TLP.is_retrans.
    is_retrans: bool,
    /// What was outstanding when the probe was sent.
    flight_size: Bytes,
    /// A probe of new data was returned and is about to be sent.
    sending: bool,
    /// A round-trip time was measured since the last probe.
    sampled: bool,
}

impl Tail {
    /// Reads [`TLP`], [`MAX_ACK_DELAY`] and [`PTO_MARGIN`].
    pub fn new(p: &Params) -> Self {
        let (on, max_ack_delay) = (p.flag("tlp"), p.duration("max_ack_delay"));
        Self {
            on,
            max_ack_delay,
            pto_margin: p.duration("pto_margin"),
            sample_first: p.flag("sample_before_probe"),
            end_seq: None,
            is_retrans: false,
            flight_size: 0,
            sending: false,
            sampled: true,
        }
    }

    /// True where the timer runs although no probe could be sent then, and restarts the retransmission timer.
    pub fn rearms(&self) -> bool {
        !self.sample_first
    }

    /// Time added to timers.
    pub fn margin(&self) -> Duration {
        self.pto_margin
    }

    /// Forgets the pending probe: the window has been reduced for a loss.
    pub fn forget(&mut self) {
        (self.end_seq, self.sending) = (None, false);
    }

    /// §7.2: true when a missing ack would be noticed by the retransmission timer only. Linux looks at its phase
    /// alone, and a SACK does not end the reduction for an ECN echo (`tcp_schedule_loss_probe`).
    pub fn is_watching(&self, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        let unsacked = b.sacked().is_empty() || self.rearms() && v.phase == Phase::Cwr;
        self.on && v.flight_size > 0 && matches!(v.phase, Phase::Open | Phase::Cwr) && unsacked
    }

    /// True where a probe timer goes on although nothing is due to be examined: as long as the tail is watched, in
    /// Linux until a repair begins (`tcp_rack_mark_lost` leaves the timer alone then).
    pub fn keeps(&self, repairing: bool, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        self.is_watching(b, v) || self.rearms() && !repairing
    }

    /// In Linux new data, with its probe, takes the place of the reordering timer.
    pub fn replaces_reordering_timer(&self) -> bool {
        self.rearms()
    }

    /// §7.2, TLP_calc_PTO(): when to probe. `None` when a probe could not be sent then (§7.3): one is
    /// pending, or no round-trip time was measured since the last one.
    pub fn pto(&self, b: &dyn ScoreboardView, v: &SenderView, sent: Option<Duration>) -> Option<Instant> {
        if (self.end_seq.is_some() || !self.sampled) && !self.rearms() {
            return None;
        }
        let single = b.segment(v.snd_una).is_some_and(|s| s.range.end >= v.snd_nxt);
        let pto = v.rtt.map_or(PTO_WITHOUT_SAMPLE, |rtt| {
            rtt.srtt * 2 + if single { self.max_ack_delay } else { self.pto_margin }
        });
        let at = v.now + pto;
        let rto = match (v.oldest_sent_at, sent) {
            // Linux counts the timeout from the oldest segment, unless an ack has just restarted the timer.
            (Some(oldest), Some(timeout)) if self.rearms() => Some(oldest + timeout).filter(|at| *at > v.now),
            _ => v.rto_deadline,
        };
        Some(rto.map_or(at, |rto| at.min(rto)))
    }

    /// §7.3, TLP_send_probe(): new data if there is any and the receiver's window has room, or else the last
    /// segment.
    pub fn probe(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
        let repairing = matches!(v.phase, Phase::Recovery | Phase::Loss);
        if !self.keeps(repairing, b, v) || self.end_seq.is_some() || !self.sampled {
            return None;
        }
        let range = match new_data(v) {
            Some(range) => range,
            None => b.segment(v.snd_nxt - 1)?.range,
        };
        // Linux repeats nothing beyond a window that has shrunk, and tries again (`__tcp_retransmit_skb`).
        let shut = range.start != v.snd_una && range.start >= v.snd_una + v.rwnd as u32;
        if self.rearms() && range.start < v.snd_nxt && shut {
            return None;
        }
        self.is_retrans = range.start < v.snd_nxt;
        (self.flight_size, self.sampled) = (v.flight_size, !self.sample_first);
        if self.is_retrans {
            self.end_seq = Some(v.snd_nxt);
        } else {
            self.sending = true;
        }
        Some(range)
    }

    /// New data was sent. Returns true when it was the probe.
    pub fn on_new_data(&mut self, v: &SenderView) -> bool {
        let probe = std::mem::take(&mut self.sending);
        if probe {
            self.end_seq = Some(v.snd_nxt);
        }
        probe
    }

    /// §7.4.2, TLP_process_ack(). Returns what was outstanding when the probe was sent, if it turns out to
    /// have repaired a loss.
    pub fn process_ack(&mut self, a: &AckInfo, v: &SenderView) -> Option<Bytes> {
        self.sampled |= a.rtt.is_some();
        let marked = a.ece && (a.newly_acked > 0 || v.flight_size > 0);
        let reported = self.end_seq.filter(|end_seq| a.ack >= *end_seq);
        if marked && self.rearms() && matches!(v.phase, Phase::Open | Phase::Disorder) {
            // Linux forgets a probe where it reduces the window for an echo (`tcp_init_cwnd_reduction`), which one
            // that comes while nothing is outstanding does not, after it has looked at what this ack tells of the probe.
            self.forget();
        }
        let end_seq = reported?;
        // New data was delivered, or both the segment and its copy were (case 1: DSACK; case 2: a duplicate
        // ack of a receiver that has no DSACK).
        // A longer DSACK reports more than the probe, which is a segment.
        let most = v.smss - if v.timestamps { TIMESTAMPS.min(v.smss) } else { 0 };
        let of_probe = |range: SeqRange| range.end == end_seq && range.len() <= most;
        let harmless = !self.is_retrans || a.dsack.is_some_and(of_probe);
        // Linux looks at what a SACK option tells, not at whether there is one (`tcp_process_tlp_ack`).
        let tells = if self.rearms() { a.newly_sacked > 0 } else { a.has_sack };
        if harmless || a.ack > end_seq || (a.deliveries.is_some_and(|d| d.repeats) && !tells) {
            self.end_seq = None;
        }
        (!harmless && a.ack > end_seq).then_some(self.flight_size)
    }
}

/// §7.2: before a round-trip time is measured.
const PTO_WITHOUT_SAMPLE: Duration = Duration::from_secs(1);
/// Bytes of a segment that timestamps take (RFC 7323 §3.2, with padding).
const TIMESTAMPS: u32 = 12;
/// Probing.
pub(super) const TLP: Param =
    Param::flag("tlp", true, "send tail loss probes before the retransmission timer expires (RFC 8985 7)");
/// TLP.max_ack_delay.
pub(super) const MAX_ACK_DELAY: Param = Param::duration(
    "max_ack_delay",
    Duration::from_millis(200),
    Duration::ZERO..=Duration::from_secs(1),
    "time added to the probe timeout when a single segment is outstanding, whose ack may be delayed (RFC \
     8985 7.2)",
);
/// §7.3.
pub(super) const SAMPLE_BEFORE_PROBE: Param = Param::flag(
    "sample_before_probe",
    true,
    "send no tail loss probe before a round-trip time was measured since the last one (RFC 8985 7.3); Linux \
     does, and has one timer: that of a probe or of reordering takes the place of the retransmission timer, \
     which then runs from when the oldest segment was sent, and a probe's goes on when something is SACKed",
);
/// What Linux adds for its timers (`TCP_TIMEOUT_MIN_US`).
pub(super) const PTO_MARGIN: Param = Param::duration(
    "pto_margin",
    Duration::ZERO,
    Duration::ZERO..=Duration::from_secs(1),
    "time added to the reordering timer, and to the probe timeout when several segments are outstanding (RFC \
     8985 6.2 and 7.2 add none, Linux 2 ms)",
);
