use ackclock_units::SeqRange;

use super::counting::{AckRule, Counting};
use super::course::{calm, mark_first, settled};
use super::duplicates::{DUP_THRESH, Duplicates, LIMITED_TRANSMIT, careful};
use super::early::EARLY_RETRANSMIT;
use crate::{AckInfo, Entry, LossRecovery, Param, Phase, ScoreboardView, SenderView};

/// The third duplicate ack has the effect of a timeout, without the wait.
#[derive(Debug)]
struct Tahoe {
    go_back_n: bool,
}

impl AckRule for Tahoe {
    const NAME: &'static str = ENTRY.name;

    fn on_ack(
        &mut self,
        duplicates: &mut Duplicates,
        a: &AckInfo,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Phase {
        if v.phase == Phase::Loss && !settled(v) {
            // What was marked is sent as slow start allows. Without go-back-N, an ack that falls short names
            // the next hole.
            if !self.go_back_n && a.newly_acked > 0 {
                mark_first(b, v, lost);
            }
            return Phase::Loss;
        }
        if !duplicates.are_enough(b, v) {
            return calm(v);
        }
        duplicates.begin(v);
        if self.go_back_n {
            lost.push(SeqRange::new(v.snd_una, v.snd_nxt));
        } else {
            mark_first(b, v, lost);
        }
        Phase::Loss
    }
}

/// Fast retransmit without fast recovery.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "tahoe",
    about: "The third duplicate ack resends at once and restarts from the loss window (fast retransmit \
            without fast recovery).",
    source: "M-A3, J-A14",
    params: &[
        DUP_THRESH,
        LIMITED_TRANSMIT,
        EARLY_RETRANSMIT,
        careful(true),
        Param::flag("go_back_n", true, "resend everything outstanding rather than one hole per ack"),
    ],
    build: |p| {
        Box::new(Counting {
            duplicates: Duplicates::new(p, p.flag("careful")),
            rule: Tahoe { go_back_n: p.flag("go_back_n") },
        })
    },
};
