//! What each end of a connection has gone through.

use ackclock_units::Instant;

use super::{LOSS, OPEN, RECOVERY, Seen, What};
use crate::emulator::{Retransmission, StreamLog};

/// What one end of a connection has gone through, in order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndEvents {
    /// The states that its congestion control has entered.
    pub(super) states: Vec<(Instant, u8)>,
    /// Expiries of its retransmission timer.
    pub(super) timeouts: Vec<Timeout>,
    /// When it has retransmitted, and its state then.
    pub(super) sent_again: Vec<(Instant, u8)>,
    /// Its tail loss probes that repeat data.
    pub(super) probes: Vec<Instant>,
    /// What the emulator has seen twice.
    pub(super) retransmissions: Vec<Retransmission>,
}

/// An expiry of a retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Timeout {
    pub(super) at: Instant,
    /// Its number among those without progress between them, from 1 on, and whether nothing of what was sent again
    /// had been lost; `None` where that did not reach the path.
    pub(super) told: Option<(u32, bool)>,
}

impl EndEvents {
    /// Times at which it has entered fast recovery.
    pub(super) fn recoveries(&self) -> impl Iterator<Item = Instant> {
        self.states.iter().filter(|(_, state)| *state == RECOVERY).map(|(at, _)| *at)
    }

    /// How many segments it has sent again.
    pub(crate) fn repeated(&self) -> u64 {
        self.retransmissions.len() as u64
    }

    /// Its retransmissions of SYNs or SYN-ACKs.
    pub(super) fn syns(&self) -> impl Iterator<Item = &Retransmission> {
        self.retransmissions.iter().filter(|again| again.from == 0)
    }

    /// How many of its retransmissions of data were spurious, from `from` on.
    pub(crate) fn spurious_since(&self, from: Instant) -> u64 {
        let all = self.retransmissions.iter();
        all.filter(|again| again.len > 0 && again.spurious && again.at >= from).count() as u64
    }

    /// Its state when it sent the retransmission that came in at `at`.
    pub(super) fn state_of_retransmission(&self, at: Instant) -> u8 {
        let after = self.sent_again.partition_point(|(sent, _)| *sent <= at);
        after.checked_sub(1).map_or(OPEN, |i| self.sent_again[i].1)
    }
}

/// What the ends have gone through, by the number of their streams.
pub(crate) fn ends(events: &[Seen], log: &StreamLog, streams: usize) -> Vec<EndEvents> {
    let mut all = vec![EndEvents::default(); streams];
    for again in &log.retransmissions {
        if let Some(end) = all.get_mut(again.stream as usize) {
            end.retransmissions.push(*again);
        }
    }
    for Seen { at, stream, what } in events {
        let Some(end) = all.get_mut(*stream as usize) else { continue };
        match what {
            What::State(state) => end.states.push((*at, *state)),
            What::Retransmitted { opening } => {
                let state = end.states.last().map_or(OPEN, |(_, state)| *state);
                end.sent_again.push((*at, state));
                // In other states the kernel retransmits nothing but these (`tcp_send_loss_probe`).
                if !opening && state < RECOVERY {
                    end.probes.push(*at);
                }
            }
            What::Sample(_) => {}
        }
    }
    for end in &mut all {
        end.timeouts = timeouts(end);
    }
    all
}

/// The kernel enters the state of loss at each expiry (`tcp_enter_loss`), and sends the first segment that is not
/// acknowledged: where that has not moved, nothing was acknowledged since the last one.
fn timeouts(end: &EndEvents) -> Vec<Timeout> {
    let at: Vec<Instant> = end.states.iter().filter(|(_, state)| *state == LOSS).map(|(at, _)| *at).collect();
    let (mut before, mut round) = (None, 0);
    let one = |(i, at): (usize, &Instant)| {
        let first = end.retransmissions.partition_point(|again| again.at < *at);
        let again = end.retransmissions.get(first);
        let again = again.filter(|again| at_end(&end.states, i).is_none_or(|next| again.at < next));
        round = if again.map(|again| again.from) == before { round + 1 } else { 1 };
        before = again.map(|again| again.from);
        Timeout { at: *at, told: again.map(|again| (round, again.spurious)) }
    };
    at.iter().enumerate().map(one).collect()
}

/// When the timer expires after expiry `i`.
fn at_end(states: &[(Instant, u8)], i: usize) -> Option<Instant> {
    states.iter().filter(|(_, state)| *state == LOSS).nth(i + 1).map(|(at, _)| *at)
}

#[cfg(test)]
mod tests {
    use ackclock_units::Duration;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn state(ms: u64, state: u8) -> Seen {
        Seen { at: at(ms), stream: 1, what: What::State(state) }
    }

    fn sent(ms: u64) -> Seen {
        Seen { at: at(ms), stream: 1, what: What::Retransmitted { opening: false } }
    }

    fn again(ms: u64, from: u64, spurious: bool) -> Retransmission {
        Retransmission { at: at(ms), stream: 1, from, len: 100, spurious }
    }

    #[test]
    fn expiries_in_a_row_send_the_same_segment_again() {
        let log = StreamLog {
            retransmissions: vec![
                again(5, 1, false),
                again(201, 1, false),
                again(601, 1, true),
                again(701, 101, false),
                again(1501, 201, false),
            ],
            segments: None,
        };
        let events = [
            // A probe, then two expiries in a row, a retransmission between, and two after progress, of which the
            // last sent nothing.
            sent(4),
            state(200, LOSS),
            sent(200),
            state(600, LOSS),
            sent(600),
            sent(700),
            state(1500, LOSS),
            sent(1500),
            state(1600, OPEN),
            state(1700, RECOVERY),
            sent(1701),
            state(1800, OPEN),
            state(2000, LOSS),
        ];
        let all = ends(&events, &log, 2);
        let end = &all[1];
        let told: Vec<_> = end.timeouts.iter().map(|t| t.told).collect();
        assert_eq!(told, [Some((1, false)), Some((2, true)), Some((1, false)), None]);
        assert_eq!((end.probes.clone(), end.recoveries().collect::<Vec<_>>()), (vec![at(4)], vec![at(1700)]));
        assert_eq!([5, 201, 1702].map(|ms| end.state_of_retransmission(at(ms))), [OPEN, LOSS, RECOVERY]);
        assert!(all[0].states.is_empty() && all[0].retransmissions.is_empty());
    }
}
