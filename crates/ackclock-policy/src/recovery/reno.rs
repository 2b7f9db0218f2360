use ackclock_units::SeqRange;

use super::counting::{AckRule, Counting};
use super::duplicates::{DUP_THRESH, Duplicates, LIMITED_TRANSMIT, careful};
use super::early::EARLY_RETRANSMIT;
use super::episode::{is_over, mark_first, phase_outside_repair};
use crate::{AckInfo, Entry, LossRecovery, Phase, ScoreboardView, SenderView};

/// Fast retransmit and fast recovery for one loss per window.
#[derive(Debug)]
struct Reno;

impl AckRule for Reno {
    const NAME: &'static str = ENTRY.name;

    fn on_ack(
        &mut self,
        duplicates: &mut Duplicates,
        a: &AckInfo,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Phase {
        match v.phase {
            Phase::Loss if !is_over(v) => Phase::Loss,
            Phase::Recovery if a.newly_acked == 0 => Phase::Recovery,
            // RFC 5681 §3.2 step 6: the first ack of new data ends the recovery, even if more segments are
            // missing.
            Phase::Recovery => phase_outside_repair(v),
            _ if duplicates.are_enough(b, v) => {
                duplicates.begin(v);
                mark_first(b, v, lost);
                Phase::Recovery
            }
            _ => phase_outside_repair(v),
        }
    }
}

/// Fast retransmit and fast recovery.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "reno",
    about: "Fast retransmit and fast recovery; the first ack of new data ends the recovery, so that several \
            losses in a window usually cause a timeout.",
    source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A4); RFC 5681 3.2",
    params: &[DUP_THRESH, LIMITED_TRANSMIT, EARLY_RETRANSMIT, careful(false)],
    build: |p| Box::new(Counting { duplicates: Duplicates::new(p, p.flag("careful")), rule: Reno }),
};
