use ackclock_units::{Bytes, SeqRange};

use super::duplicates::{DUP_THRESH, Duplicates, LIMITED_TRANSMIT, calm, careful, lost_or_new, mark_first, settled};
use crate::{AckInfo, Entry, LossRecovery, Phase, Policy, Scoreboard, SenderView};

/// Fast retransmit and fast recovery for one loss per window.
#[derive(Debug)]
struct Reno {
    duplicates: Duplicates,
}

impl Policy for Reno {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl LossRecovery for Reno {
    fn on_ack(&mut self, a: &AckInfo, b: &dyn Scoreboard, v: &SenderView, lost: &mut Vec<SeqRange>) -> Phase {
        self.duplicates.follow(v);
        match v.phase {
            Phase::Loss if !settled(v) => Phase::Loss,
            Phase::Recovery if a.newly_acked == 0 => Phase::Recovery,
            // RFC 5681 §3.2 step 6: the first ack of new data ends it, whatever else is missing.
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

/// Fast retransmit and fast recovery.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "reno",
    about: "Fast retransmit and fast recovery; the first ack of new data ends it, so that several losses in a window usually time out.",
    source: "M-A4; RFC 5681 3.2",
    params: &[DUP_THRESH, LIMITED_TRANSMIT, careful(false)],
    build: |p| Box::new(Reno { duplicates: Duplicates::new(p, p.flag("careful")) }),
};
