use ackclock_units::{Bytes, SeqRange};

use super::course::{lost_or_new, settled};
use crate::{AckInfo, Entry, LossRecovery, Phase, Policy, ScoreboardView, SenderView};

/// Nothing but the timer tells a loss; after it, everything outstanding is sent again.
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
            Phase::Loss | Phase::Cwr if !settled(v) => v.phase,
            _ => Phase::Open,
        }
    }

    fn next_seg(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
        lost_or_new(b, v)
    }

    fn quota(&mut self, v: &SenderView) -> Bytes {
        // Outside a repair a duplicate ack sends nothing: the window is counted from `snd_una`.
        if v.phase == Phase::Loss { v.room() } else { v.window.cwnd.saturating_sub(v.flight_size) }
    }
}

/// The sender of before fast retransmit.
pub(crate) const ENTRY: Entry<dyn LossRecovery> = Entry {
    name: "timeout-only",
    about: "Only the timer tells a loss; everything outstanding is then sent again from the first \
            unacknowledged byte (go-back-N).",
    source: "J-A16",
    params: &[],
    build: |_| Box::new(TimeoutOnly),
};
