//! What a sender does when a loss recovery returns another phase. Connections and the harness that tests
//! recoveries both use it.

use crate::{Congestion, Phase};

/// A change of phase, and what a sender does at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transition {
    /// The phase from now on.
    pub phase: Phase,
    /// A loss episode begins: its recovery point is `snd_nxt`.
    pub begins_episode: bool,
    /// The congestion window is notified of this signal and reduces.
    pub reduces: Option<Congestion>,
    /// An episode is over, and the congestion window is notified of its end.
    pub ends_episode: bool,
}

impl Transition {
    /// The change from phase `from` where the loss recovery returned `to`; `None` when nothing changes.
    /// `covered`: everything below the recovery point of the present or last episode is acknowledged.
    pub fn of(from: Phase, to: Phase, covered: bool) -> Option<Self> {
        if from == to {
            return None;
        }
        let none = Self { phase: to, begins_episode: false, reduces: None, ends_episode: false };
        Some(match to {
            // The reduction on an echo lasts until what was outstanding then is acknowledged (RFC 3168
            // §6.1.2).
            Phase::Open | Phase::Disorder if from == Phase::Cwr && !covered => return None,
            Phase::Open | Phase::Disorder => {
                Self { ends_episode: matches!(from, Phase::Recovery | Phase::Loss | Phase::Cwr), ..none }
            }
            Phase::Cwr => none,
            // One reduction per window of data: an ECN reduction of the same window counts (RFC 3168 §6.1.2).
            Phase::Recovery if from == Phase::Cwr && !covered => Self { begins_episode: true, ..none },
            Phase::Recovery => Self { begins_episode: true, reduces: Some(Congestion::Loss), ..none },
            // A restart from the loss window without a timeout (Tahoe).
            Phase::Loss => {
                Self { begins_episode: true, reduces: Some(Congestion::Rto { repeated: false }), ..none }
            }
        })
    }

    /// The change at an expiry of the retransmission timer (RFC 5681 §3.1): always an episode of its own, of
    /// which the congestion window is notified. `repeated`: the same data had timed out before.
    pub fn expiry(repeated: bool) -> Self {
        let reduces = Some(Congestion::Rto { repeated });
        Self { phase: Phase::Loss, begins_episode: true, reduces, ends_episode: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Phase; 5] = [Phase::Open, Phase::Disorder, Phase::Cwr, Phase::Recovery, Phase::Loss];

    #[test]
    fn an_episode_begins_with_recovery_or_loss_alone() {
        for (from, to) in ALL.into_iter().flat_map(|from| ALL.map(|to| (from, to))) {
            for covered in [false, true] {
                let Some(t) = Transition::of(from, to, covered) else {
                    let held = from == Phase::Cwr && !covered && matches!(to, Phase::Open | Phase::Disorder);
                    assert!(from == to || held, "{from:?} to {to:?}");
                    continue;
                };
                assert_eq!(t.phase, to);
                assert_eq!(
                    t.begins_episode,
                    matches!(to, Phase::Recovery | Phase::Loss),
                    "{from:?} to {to:?}"
                );
                assert!(t.begins_episode || t.reduces.is_none(), "nothing is reduced without an episode");
                assert!(!(t.begins_episode && t.ends_episode));
            }
        }
    }

    #[test]
    fn a_window_is_reduced_once() {
        let reduces = |from, covered| Transition::of(from, Phase::Recovery, covered).and_then(|t| t.reduces);
        assert_eq!(reduces(Phase::Open, true), Some(Congestion::Loss));
        assert_eq!(reduces(Phase::Cwr, false), None, "an echo has reduced this window");
        assert_eq!(reduces(Phase::Cwr, true), Some(Congestion::Loss));
        assert_eq!(Transition::expiry(true).reduces, Some(Congestion::Rto { repeated: true }));
    }
}
