use ackclock_units::{Bytes, SeqRange};

use super::duplicates::{DUP_THRESH, Duplicates, LIMITED_TRANSMIT, calm, careful, lost_or_new, mark_first, settled};
use crate::{AckInfo, Entry, LossRecovery, Param, Phase, Policy, Scoreboard, SenderView};

/// The third duplicate ack has the effect of a timeout, without the wait.
#[derive(Debug)]
struct Tahoe {
    duplicates: Duplicates,
    go_back_n: bool,
}

impl Policy for Tahoe {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl LossRecovery for Tahoe {
    fn on_ack(&mut self, a: &AckInfo, b: &dyn Scoreboard, v: &SenderView, lost: &mut Vec<SeqRange>) -> Phase {
        self.duplicates.follow(v);
        if v.phase == Phase::Loss && !settled(v) {
            // What was marked is sent as slow start allows. Without go-back-N, an ack that falls short names the next hole.
            if !self.go_back_n && a.newly_acked > 0 {
                mark_first(b, v, lost);
            }
            return Phase::Loss;
        }
        if !self.duplicates.are_enough(v) {
            return calm(v);
        }
        self.duplicates.begin(v);
        if self.go_back_n {
            lost.push(SeqRange::new(v.snd_una, v.snd_nxt));
        } else {
            mark_first(b, v, lost);
        }
        Phase::Loss
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

/// Fast retransmit without fast recovery.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "tahoe",
    about: "The third duplicate ack resends at once and restarts from the loss window (fast retransmit without fast recovery).",
    source: "M-A3, J-A14",
    params: &[
        DUP_THRESH,
        LIMITED_TRANSMIT,
        careful(true),
        Param::flag("go_back_n", true, "resend everything outstanding rather than one hole per ack"),
    ],
    build: |p| Box::new(Tahoe { duplicates: Duplicates::new(p, p.flag("careful")), go_back_n: p.flag("go_back_n") }),
};
