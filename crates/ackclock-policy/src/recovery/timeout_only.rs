use ackclock_units::{Bytes, SeqRange};

use super::episode::{is_over, lost_or_new};
use crate::{AckInfo, Entry, LossRecovery, Phase, Policy, ScoreboardView, SenderView};

/// Losses are detected by the timer only; everything outstanding is then retransmitted.
#[derive(Debug)]
struct TimeoutOnly;

impl Policy for TimeoutOnly {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl LossRecovery for TimeoutOnly {
    fn on_ack(
        &mut self,
        _a: &AckInfo,
        _b: &dyn ScoreboardView,
        v: &SenderView,
        _lost: &mut Vec<SeqRange>,
    ) -> Phase {
        match v.phase {
            Phase::Loss | Phase::Cwr if !is_over(v) => v.phase,
            _ => Phase::Open,
        }
    }

    fn next_seg(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
        lost_or_new(b, v)
    }

    fn quota(&mut self, v: &SenderView) -> Bytes {
        // Outside a repair a duplicate ack allows nothing: the window is counted from `snd_una`.
        if v.phase == Phase::Loss { v.room() } else { v.window.cwnd.saturating_sub(v.flight_size) }
    }
}

/// A sender from before fast retransmit.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "timeout-only",
    about: "Detects losses by the retransmission timer only, and then retransmits everything outstanding \
            from the first unacknowledged byte (go-back-N).",
    source: "Jacobson & Karels 1988 (J-A16)",
    params: &[],
    build: |_| Box::new(TimeoutOnly),
};
