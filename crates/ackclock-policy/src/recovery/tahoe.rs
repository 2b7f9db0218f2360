use ackclock_units::SeqRange;

use super::counting::{AckRule, Counting};
use super::duplicates::{DUP_THRESH, Duplicates, LIMITED_TRANSMIT, careful};
use super::early::EARLY_RETRANSMIT;
use super::episode::{is_over, mark_first, phase_outside_repair};
use crate::{AckInfo, Entry, LossRecovery, Param, Phase, ScoreboardView, SenderView};

/// The third duplicate ack acts as a timeout.
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
        if v.phase == Phase::Loss && !is_over(v) {
            // Marked segments are sent as slow start allows. Without go-back-N, a partial ack shows the next
            // hole.
            if !self.go_back_n && a.newly_acked > 0 {
                mark_first(b, v, lost);
            }
            return Phase::Loss;
        }
        if !duplicates.are_enough(b, v) {
            return phase_outside_repair(v);
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
    about: "Fast retransmit without fast recovery: the third duplicate ack retransmits and restarts from the \
            loss window.",
    source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A3); Jacobson & Karels 1988 (J-A14)",
    params: &[
        DUP_THRESH,
        LIMITED_TRANSMIT,
        EARLY_RETRANSMIT,
        careful(true),
        Param::flag("go_back_n", true, "retransmit everything outstanding, rather than one hole per ack"),
    ],
    build: |p| {
        Box::new(Counting {
            duplicates: Duplicates::new(p, p.flag("careful")),
            rule: Tahoe { go_back_n: p.flag("go_back_n") },
        })
    },
};
