use ackclock_units::{Bytes, SeqNumber};

use super::early::EarlyRetransmit;
use crate::{Param, Params, Phase, Scoreboard, SenderView};

/// What all rules that count duplicate acks share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicates {
    dup_thresh: u32,
    limited_transmit: bool,
    early: EarlyRetransmit,
    /// A retransmission is due whatever the window says.
    owed: bool,
    /// Duplicate acks up to here may come from needless retransmissions of an earlier episode (RFC 6582 §3.2); `None` when that is over. Kept here and
    /// forgotten in time, since a stale number would compare wrongly after two gigabytes.
    recover: Option<SeqNumber>,
    careful: bool,
}

impl Duplicates {
    /// Reads [`DUP_THRESH`], [`LIMITED_TRANSMIT`] and [`EARLY_RETRANSMIT`](super::early::EARLY_RETRANSMIT).
    pub fn new(p: &Params, careful: bool) -> Self {
        let (dup_thresh, limited_transmit) = (p.count("dup_thresh") as u32, p.flag("limited_transmit"));
        Self { dup_thresh, limited_transmit, early: EarlyRetransmit::new(p), owed: false, recover: None, careful }
    }

    /// DupThresh.
    pub fn dup_thresh(&self) -> u32 {
        self.dup_thresh
    }

    /// To be called at each ack, before anything else.
    pub fn follow(&mut self, v: &SenderView) {
        if self.recover.is_some_and(|recover| v.snd_una > recover) {
            self.recover = None;
        }
    }

    /// True when so many duplicate acks came that a segment is missing.
    pub fn are_enough(&self, b: &dyn Scoreboard, v: &SenderView) -> bool {
        (v.dup_acks >= self.dup_thresh || self.are_all(b, v)) && self.recover.is_none()
    }

    /// True when as many came as can be expected, and those are few (RFC 5827).
    pub fn are_all(&self, b: &dyn Scoreboard, v: &SenderView) -> bool {
        self.early.is_due(b, v)
    }

    /// An episode begins: the first retransmission goes out even if the window is full (RFC 5681 §3.2 step 3, RFC 6675 §5 step 4.3).
    pub fn begin(&mut self, v: &SenderView) {
        self.owe();
        if self.careful {
            self.recover = Some(v.snd_nxt);
        }
    }

    /// The timer expired: duplicate acks for what is now resent mean nothing (RFC 6582 §4).
    pub fn expired(&mut self, v: &SenderView) {
        self.owed = false;
        if self.careful {
            self.recover = Some(v.snd_nxt);
        }
    }

    /// The last timeout was spurious.
    pub fn undo(&mut self) {
        self.owed = false;
        self.recover = None;
    }

    /// The next segment goes out whatever the window says.
    pub fn owe(&mut self) {
        self.owed = true;
    }

    /// Bytes that may be sent now. In Disorder at most two segments beyond the window (RFC 3042), or none.
    pub fn quota(&mut self, v: &SenderView) -> Bytes {
        if std::mem::take(&mut self.owed) {
            return v.room().max(u64::from(v.smss));
        }
        if v.phase != Phase::Disorder {
            return v.room();
        }
        let beyond = if self.limited_transmit { 2 * u64::from(v.smss) } else { 0 };
        v.room().min(v.window.cwnd.saturating_add(beyond).saturating_sub(v.flight_size))
    }

    /// True when segments may be sent on duplicate acks.
    pub fn limited_transmit(&self) -> bool {
        self.limited_transmit
    }
}

/// How many duplicate acks mean a loss.
pub(super) const DUP_THRESH: Param = Param::count("dup_thresh", 3, 1..=1000, "duplicate acks that mean a loss (DupThresh)");
/// RFC 3042.
pub(super) const LIMITED_TRANSMIT: Param =
    Param::flag("limited_transmit", true, "send a new segment on each of the first two duplicate acks (RFC 3042)");

/// Whether earlier episodes cast doubt on duplicate acks.
pub(super) const fn careful(default: bool) -> Param {
    Param::flag("careful", default, "ignore duplicate acks that resent data of an earlier episode may have caused (RFC 6582 3.2 `recover`)")
}
