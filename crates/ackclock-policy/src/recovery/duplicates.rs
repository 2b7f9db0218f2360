use ackclock_units::{Bytes, SeqNumber};

use super::early::EarlyRetransmit;
use crate::{Param, Params, Phase, ScoreboardView, SenderView};

/// What all rules that count duplicate acks share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicates {
    dup_thresh: u16,
    limited_transmit: bool,
    early: EarlyRetransmit,
    /// A retransmission is due whatever the window says.
    owed: bool,
    /// Duplicate acks up to here may come from spurious retransmissions of an earlier episode (RFC 6582
    /// §3.2), while `doubtful`. Kept here and forgotten in time, since a stale number would compare wrongly
    /// after two gigabytes.
    recover: SeqNumber,
    doubtful: bool,
    /// Both from before the timer expired, should that have been spurious.
    recover_before: SeqNumber,
    doubtful_before: bool,
    /// Segments resent since.
    resent: u16,
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
            owed: false,
            recover: none,
            doubtful: false,
            recover_before: none,
            doubtful_before: false,
            resent: 0,
            careful,
        }
    }

    /// DupThresh.
    pub fn dup_thresh(&self) -> u32 {
        self.dup_thresh.into()
    }

    /// To be called at each ack, before anything else.
    pub fn follow(&mut self, v: &SenderView) {
        self.doubtful &= v.snd_una <= self.recover;
    }

    /// True when so many duplicate acks came that a segment is missing.
    pub fn are_enough(&self, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        (v.dup_acks >= self.dup_thresh() || self.are_all(b, v)) && !self.doubtful
    }

    /// True when as many came as can be expected, and those are few (RFC 5827).
    pub fn are_all(&self, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        self.early.is_due(b, v)
    }

    /// An episode begins: the first retransmission goes out even if the window is full (RFC 5681 §3.2 step 3,
    /// RFC 6675 §5 step 4.3).
    pub fn begin(&mut self, v: &SenderView) {
        self.owe();
        self.doubt(v);
    }

    /// The timer expired: duplicate acks for what is now resent mean nothing (RFC 6582 §4).
    pub fn expired(&mut self, v: &SenderView) {
        self.owed = false;
        if v.expiries <= 1 {
            (self.recover_before, self.doubtful_before, self.resent) = (self.recover, self.doubtful, 0);
        }
        self.doubt(v);
    }

    fn doubt(&mut self, v: &SenderView) {
        if self.careful {
            (self.recover, self.doubtful) = (v.snd_nxt, true);
        }
    }

    /// A segment was sent again.
    pub fn resent(&mut self) {
        self.resent = self.resent.saturating_add(1);
    }

    /// The last timeout was spurious: everything that was resent brings a duplicate ack. Where those could be
    /// taken for a loss, they go on meaning nothing.
    pub fn undo(&mut self, v: &SenderView) {
        self.owed = false;
        if self.resent < self.dup_thresh {
            (self.recover, self.doubtful) = (self.recover_before, self.doubtful_before);
            self.follow(v);
        }
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
pub(super) const DUP_THRESH: Param =
    Param::count("dup_thresh", 3, 1..=1000, "duplicate acks that mean a loss (DupThresh)");
/// RFC 3042.
pub(super) const LIMITED_TRANSMIT: Param = Param::flag(
    "limited_transmit",
    true,
    "send a new segment on each of the first two duplicate acks (RFC 3042)",
);

/// Whether earlier episodes cast doubt on duplicate acks.
pub(super) const fn careful(default: bool) -> Param {
    Param::flag(
        "careful",
        default,
        "ignore duplicate acks that resent data of an earlier episode may have caused (RFC 6582 3.2 \
         `recover`)",
    )
}
