use ackclock_units::{Bytes, SeqNumber};

use super::early::EarlyRetransmit;
use crate::{Param, Params, Phase, ScoreboardView, SenderView};

/// State of all recoveries that count duplicate acks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicates {
    dup_thresh: u16,
    limited_transmit: bool,
    early: EarlyRetransmit,
    /// The next segment is sent whatever the window allows.
    force_next: bool,
    /// While `ignoring`, duplicate acks up to here may have been elicited by retransmissions of an earlier
    /// episode that the receiver already had (RFC 6582 §3.2). Forgotten in time, since a stale number would
    /// compare wrongly after two gigabytes.
    recover: SeqNumber,
    ignoring: bool,
    /// Both as before the timer expired, in case that was spurious.
    recover_before: SeqNumber,
    ignoring_before: bool,
    /// Segments retransmitted since.
    retransmitted: u16,
    careful: bool,
}

impl Duplicates {
    /// Reads [`DUP_THRESH`], [`LIMITED_TRANSMIT`] and [`EARLY_RETRANSMIT`](super::early::EARLY_RETRANSMIT).
    pub fn new(p: &Params, careful: bool) -> Self {
        let (dup_thresh, limited_transmit) = (p.count("dup_thresh") as u16, p.flag("limited_transmit"));
        let (early, none) = (EarlyRetransmit::new(p), SeqNumber(0));
        Self {
            dup_thresh,
            limited_transmit,
            early,
            force_next: false,
            recover: none,
            ignoring: false,
            recover_before: none,
            ignoring_before: false,
            retransmitted: 0,
            careful,
        }
    }

    /// DupThresh.
    pub fn dup_thresh(&self) -> u32 {
        self.dup_thresh.into()
    }

    /// To be called first at each ack.
    pub fn update(&mut self, v: &SenderView) {
        self.ignoring &= v.snd_una <= self.recover;
    }

    /// True when enough duplicate acks arrived to infer a loss.
    pub fn are_enough(&self, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        (v.dup_acks >= self.dup_thresh() || self.are_all(b, v)) && !self.ignoring
    }

    /// True when as many arrived as the few outstanding segments can elicit (RFC 5827).
    pub fn are_all(&self, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        self.early.is_due(b, v)
    }

    /// An episode begins: the first retransmission is sent even if the window is full (RFC 5681 §3.2 step 3,
    /// RFC 6675 §5 step 4.3).
    pub fn begin(&mut self, v: &SenderView) {
        self.force_next();
        self.set_recover(v);
    }

    /// The timer expired: duplicate acks elicited by the retransmissions do not indicate a loss (RFC 6582
    /// §4).
    pub fn expired(&mut self, v: &SenderView) {
        self.force_next = false;
        if v.expiries <= 1 {
            (self.recover_before, self.ignoring_before, self.retransmitted) =
                (self.recover, self.ignoring, 0);
        }
        self.set_recover(v);
    }

    fn set_recover(&mut self, v: &SenderView) {
        if self.careful {
            (self.recover, self.ignoring) = (v.snd_nxt, true);
        }
    }

    /// The last recovery was undone by an original of what it repairs: duplicate acks may begin another one.
    pub fn undo_recovery(&mut self) {
        self.ignoring = false;
    }

    /// A segment was retransmitted.
    pub fn on_retransmit(&mut self) {
        self.retransmitted = self.retransmitted.saturating_add(1);
    }

    /// The last timeout was spurious: every retransmission elicits a duplicate ack. Where these could be
    /// mistaken for a loss, duplicate acks stay ignored.
    pub fn undo(&mut self, v: &SenderView) {
        self.force_next = false;
        if self.retransmitted < self.dup_thresh {
            (self.recover, self.ignoring) = (self.recover_before, self.ignoring_before);
            self.update(v);
        }
    }

    /// Lets the next segment be sent whatever the window allows.
    pub fn force_next(&mut self) {
        self.force_next = true;
    }

    /// Bytes that may be sent now. In Disorder up to two segments beyond the window (RFC 3042), or none.
    pub fn quota(&mut self, v: &SenderView) -> Bytes {
        if std::mem::take(&mut self.force_next) {
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

/// Number of duplicate acks that indicate a loss.
pub(super) const DUP_THRESH: Param =
    Param::count("dup_thresh", 3, 1..=1000, "number of duplicate acks that indicate a loss (DupThresh)");
/// RFC 3042.
pub(super) const LIMITED_TRANSMIT: Param = Param::flag(
    "limited_transmit",
    true,
    "send a new segment on each of the first two duplicate acks (RFC 3042)",
);

/// Whether duplicate acks that an earlier episode may have caused are ignored.
pub(super) const fn careful(default: bool) -> Param {
    Param::flag(
        "careful",
        default,
        "ignore duplicate acks that retransmissions of an earlier episode may have caused (`recover` of RFC \
         6582 3.2)",
    )
}
