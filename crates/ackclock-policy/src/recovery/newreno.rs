use ackclock_units::SeqRange;

use super::counting::{AckRule, Counting};
use super::duplicates::{DUP_THRESH, Duplicates, LIMITED_TRANSMIT, careful};
use super::early::EARLY_RETRANSMIT;
use super::episode::{is_over, mark_first, phase_outside_repair};
use crate::{AckInfo, Entry, LossRecovery, Params, Phase, ScoreboardView, SenderView};

/// Fast recovery that ends when everything outstanding at its beginning is acknowledged, and repairs one hole
/// per round trip.
#[derive(Debug)]
pub(super) struct NewReno;

impl NewReno {
    /// Reads [`DUP_THRESH`], [`LIMITED_TRANSMIT`] and [`EARLY_RETRANSMIT`].
    pub fn counting(p: &Params, careful: bool) -> Counting<Self> {
        Counting { duplicates: Duplicates::new(p, careful), rule: Self }
    }
}

impl AckRule for NewReno {
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
            Phase::Recovery if !is_over(v) => {
                // RFC 6582 §3.2 step 3: a partial ack shows the next hole, which is retransmitted whatever
                // the window allows.
                if a.newly_acked > 0 {
                    mark_first(b, v, lost);
                    duplicates.force_next();
                }
                Phase::Recovery
            }
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

/// NewReno.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "newreno",
    about: "Fast recovery that lasts until everything outstanding at its beginning is acknowledged; each \
            partial ack retransmits the next hole.",
    source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A5); RFC 6582",
    params: &[DUP_THRESH, LIMITED_TRANSMIT, EARLY_RETRANSMIT, careful(true)],
    build: |p| Box::new(NewReno::counting(p, p.flag("careful"))),
};
