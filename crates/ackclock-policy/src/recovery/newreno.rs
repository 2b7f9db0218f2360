use ackclock_units::{Bytes, SeqRange};

use super::duplicates::{DUP_THRESH, Duplicates, LIMITED_TRANSMIT, calm, careful, lost_or_new, mark_first, settled};
use crate::{AckInfo, Entry, LossRecovery, Params, Phase, Policy, Scoreboard, SenderView};

/// Fast recovery that ends only when everything outstanding at its beginning is acknowledged, a hole per round trip.
#[derive(Debug)]
pub(super) struct NewReno {
    pub(super) duplicates: Duplicates,
}

impl NewReno {
    /// Reads [`DUP_THRESH`] and [`LIMITED_TRANSMIT`].
    pub fn new(p: &Params, careful: bool) -> Self {
        Self { duplicates: Duplicates::new(p, careful) }
    }
}

impl Policy for NewReno {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl LossRecovery for NewReno {
    fn on_ack(&mut self, a: &AckInfo, b: &dyn Scoreboard, v: &SenderView, lost: &mut Vec<SeqRange>) -> Phase {
        self.duplicates.follow(v);
        match v.phase {
            Phase::Loss if !settled(v) => Phase::Loss,
            Phase::Recovery if !settled(v) => {
                // RFC 6582 §3.2 step 3: a partial ack names the next hole, which is resent whatever the window says.
                if a.newly_acked > 0 {
                    mark_first(b, v, lost);
                    self.duplicates.owe();
                }
                Phase::Recovery
            }
            Phase::Recovery => calm(v),
            _ if self.duplicates.are_enough(v) => {
                self.duplicates.begin(v);
                mark_first(b, v, lost);
                Phase::Recovery
            }
            _ => calm(v),
        }
    }

    fn on_rto(&mut self, _b: &dyn Scoreboard, v: &SenderView, lost: &mut Vec<SeqRange>) {
        self.duplicates.expired(v);
        lost.push(SeqRange::new(v.snd_una, v.snd_nxt));
    }

    fn next_seg(&mut self, b: &dyn Scoreboard, v: &SenderView) -> Option<SeqRange> {
        lost_or_new(b, v)
    }

    fn quota(&mut self, v: &SenderView) -> Bytes {
        self.duplicates.quota(v)
    }

    fn on_undo(&mut self, _v: &SenderView) {
        self.duplicates.undo();
    }
}

/// NewReno.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "newreno",
    about: "Fast recovery that lasts until everything outstanding at its beginning is acknowledged; each partial ack resends the next hole.",
    source: "M-A5; RFC 6582",
    params: &[DUP_THRESH, LIMITED_TRANSMIT, careful(true)],
    build: |p| Box::new(NewReno::new(p, p.flag("careful"))),
};
