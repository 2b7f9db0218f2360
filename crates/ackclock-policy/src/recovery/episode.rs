//! Functions that all recoveries use: whether an episode is over, and what is sent next.

use ackclock_units::SeqRange;

use crate::{Phase, ScoreboardView, SenderView};

/// True when everything that was outstanding at the beginning of the current episode is acknowledged.
pub(super) fn is_over(v: &SenderView) -> bool {
    v.snd_una >= v.recovery_point
}

/// The phase of a sender with no loss to repair.
pub(super) fn phase_outside_repair(v: &SenderView) -> Phase {
    match v.phase {
        Phase::Cwr if !is_over(v) => Phase::Cwr,
        _ if v.dup_acks > 0 => Phase::Disorder,
        _ => Phase::Open,
    }
}

/// Marks the first outstanding segment as lost.
pub(super) fn mark_first(b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) {
    lost.extend(b.next_unsacked(v.snd_una).filter(|first| first.end <= v.snd_nxt));
}

/// The next segment of new data, if there is any and the receiver's window has room.
pub(super) fn new_data(v: &SenderView) -> Option<SeqRange> {
    let next = v.unsent.min(u64::from(v.smss));
    (next > 0 && v.flight_size + next <= v.rwnd).then(|| SeqRange::new(v.snd_nxt, v.snd_nxt + v.smss))
}

/// The first segment marked lost, or else new data.
pub(super) fn lost_or_new(b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
    b.next_lost(v.snd_una).or_else(|| new_data(v))
}
