//! Acks on their way from the capture to the sender. What a sender may send depends on what has reached it:
//! near the data's receiver, an ack is captured a good part of a round trip earlier.

use std::collections::VecDeque;

use ackclock_units::{Duration, Instant, SeqNumber};

use super::{Half, PeerTimes};
use crate::limits::{Reaction, SendState};
use crate::observed::Place;
use crate::thresholds::THRESHOLDS;

/// Acks kept; those that pass in quick succession are taken together.
const MOST_ACKS: usize = 128;
/// Acks within this part of the way are taken together.
const TOGETHER: u64 = 24;

/// What has reached the sender, and the acks that will.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    under_way: VecDeque<PassedAck>,
    /// The latest one that has; `None` before the first.
    latest: Option<(u64, Option<u64>)>,
}

/// An ack that was captured and has not reached the sender.
#[derive(Clone, Copy, Debug)]
struct PassedAck {
    /// When it does.
    at: Instant,
    frame: u64,
    una: u64,
    /// The window that it offers, where that is known.
    room: Option<u64>,
    progress: bool,
    opening: bool,
    /// Its timestamp.
    tsval: Option<u32>,
    /// It came later than after the shortest time.
    delayed: bool,
}

impl Half {
    /// True if the way from the capture to the sender is long enough to matter.
    fn is_far_from_sender(&self) -> bool {
        self.path.far.is_some_and(|far| self.path.near > far / THRESHOLDS.order.at_sender_part)
    }

    /// Takes an ack, or a changed window, for what limits the sender.
    pub(super) fn pass_ack(&mut self, at: Instant, progress: bool, opening: bool, tsval: Option<u32>) {
        let frame = self.frame;
        let passed = PassedAck {
            at,
            frame,
            una: self.space.una,
            room: self.heard.room(),
            progress,
            opening,
            tsval,
            delayed: false,
        };
        if !self.is_far_from_sender() {
            self.reach(at);
            self.apply(&passed);
            return;
        }
        let near = self.path.near;
        let passed = PassedAck { at: at + near, ..passed };
        if self.reached.under_way.len() >= MOST_ACKS
            && let Some(first) = self.reached.under_way.pop_front()
        {
            self.apply(&first);
        }
        let queue = &mut self.reached.under_way;
        match queue.back_mut() {
            Some(last) if passed.at.since(last.at) < near / TOGETHER => {
                *last = PassedAck {
                    at: last.at,
                    tsval: last.tsval,
                    progress: last.progress || passed.progress,
                    opening: last.opening || passed.opening,
                    ..passed
                };
            }
            _ => queue.push_back(passed),
        }
    }

    /// Applies the acks that have reached the sender by `at`.
    pub(crate) fn reach(&mut self, at: Instant) {
        self.reach_echoed(at, None);
    }

    /// The same when it sends a segment that echoes the timestamp `tsecr`: later acks had not reached it,
    /// however long ago they passed the capture.
    pub(super) fn reach_echoed(&mut self, at: Instant, tsecr: Option<u32>) {
        let later = |ack: &PassedAck| {
            ack.tsval.zip(tsecr).is_some_and(|(tsval, echo)| (tsval.wrapping_sub(echo) as i32) > 0)
        };
        while let Some(next) = self.reached.under_way.front_mut().filter(|a| a.at <= at) {
            if later(next) {
                next.delayed |= at.since(next.at) > THRESHOLDS.reaction.busy;
                break;
            }
            // When a delayed one came is not known: no later than now, and what it releases shows it.
            let next = PassedAck { at: if next.delayed { at } else { next.at }, ..*next };
            self.reached.under_way.pop_front();
            self.apply(&next);
        }
    }

    fn apply(&mut self, ack: &PassedAck) {
        self.reached.latest = Some((ack.una, ack.room));
        let state = SendState { frame: ack.frame, ..self.send_state(ack.at) };
        self.limits.acked(&state, ack.progress, ack.opening);
    }

    /// Takes data of the other end, which its sender answers, perhaps.
    pub(crate) fn asked(&mut self, here: Place) {
        let near = if self.is_far_from_sender() { self.path.near } else { Duration::ZERO };
        self.limits.asked(Place { at: here.at + near, ..here });
        self.heard.data_at = Some(here.at);
    }

    /// Takes what its sender knew when it sent the current segment, by the timestamp that it echoes.
    pub(crate) fn knows(&mut self, ack: SeqNumber, window: u16) {
        if self.is_far_from_sender() && self.space.base.is_some() {
            let una = self.space.coordinate(ack).min(self.space.max);
            let room = u64::from(window) << self.agreed.window_scale;
            self.reached.latest = Some((una, Some(room).filter(|_| self.agreed.scale_known)));
        }
    }

    /// What is acknowledged and the window, as far as they have reached the sender.
    pub(super) fn known_to_sender(&self) -> (u64, Option<u64>) {
        self.reached.latest.unwrap_or((self.space.una, self.heard.room()))
    }

    /// When a packet that is captured at `at` would have passed the capture without delay on its way, by its
    /// sender's clock; and how soon after an ack data counts as a reaction to it, of `prompt` as seen here.
    pub(super) fn sent_by(&self, at: Instant, prompt: Duration, peer: &PeerTimes) -> (Instant, Reaction) {
        let far = self.is_far_from_sender();
        match peer.due.filter(|_| far) {
            Some(due) => {
                // A timestamp is known to a tick.
                let slack = peer.tick + THRESHOLDS.acked.clock;
                let prompt = prompt.saturating_sub(self.path.near) + slack;
                ((due + slack).min(at), Reaction { prompt, delays_unknown: false })
            }
            // Without its clock, a delay on the way is indistinguishable from one of the sender.
            None => (at, Reaction { prompt, delays_unknown: far }),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::Options;
    use crate::wanted::Wanted;

    const BASE: u64 = 1 << 32;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn at(n: u64) -> Instant {
        Instant::ZERO + ms(n)
    }

    /// A direction whose data passes the capture beside its receiver: the way to the sender and back takes
    /// 40 ms.
    fn far_from_its_sender() -> Half {
        let mut half =
            Half::new(Instant::ZERO, &crate::half::Estimators::new(), &Wanted::new(Options::default()));
        half.begin(SeqNumber(0));
        (half.path.far, half.path.near) = (Some(ms(1)), ms(40));
        (half.heard.window, half.heard.scaled) = (Some(50_000), true);
        (half.agreed.scale_known, half.agreed.window_scale) = (true, 2);
        half.space.max = BASE + 100_000;
        half.limits.begin(Place { at: Instant::ZERO, frame: 1 }, false);
        half
    }

    fn ack(half: &mut Half, ms: u64, una: u64, tsval: Option<u32>) {
        half.space.una = BASE + una;
        half.pass_ack(at(ms), true, false, tsval);
    }

    fn una(half: &Half) -> u64 {
        half.known_to_sender().0 - BASE
    }

    #[test]
    fn an_ack_counts_once_it_can_have_reached_the_sender() {
        let mut half = far_from_its_sender();
        ack(&mut half, 10, 1000, None);
        ack(&mut half, 20, 2000, None);
        half.reach(at(49));
        assert_eq!(half.reached.latest, None);
        half.reach(at(50));
        assert_eq!(una(&half), 1000);
        half.reach(at(500));
        assert_eq!(half.known_to_sender(), (BASE + 2000, Some(50_000)));
    }

    #[test]
    fn beside_its_sender_it_counts_at_once() {
        let mut half = far_from_its_sender();
        (half.path.far, half.path.near) = (Some(ms(40)), ms(0));
        ack(&mut half, 10, 1000, None);
        assert_eq!(una(&half), 1000);
        assert!(half.reached.under_way.is_empty());
    }

    #[test]
    fn acks_in_quick_succession_are_taken_together_and_their_number_is_bounded() {
        let mut half = far_from_its_sender();
        ack(&mut half, 10, 1000, None);
        ack(&mut half, 11, 2000, None);
        assert_eq!(half.reached.under_way.len(), 1);
        half.reach(at(50));
        assert_eq!(una(&half), 2000);
        (100..10_000).step_by(3).for_each(|ms| ack(&mut half, ms, ms, None));
        assert_eq!(half.reached.under_way.len(), MOST_ACKS);
    }

    #[test]
    fn what_the_sender_echoes_shows_which_acks_it_had() {
        let mut half = far_from_its_sender();
        ack(&mut half, 10, 1000, Some(u32::MAX));
        ack(&mut half, 20, 2000, Some(9));
        // Both might have arrived, but it echoes the first: the second was held up. The counter has wrapped.
        half.reach_echoed(at(100), Some(u32::MAX));
        assert_eq!(una(&half), 1000);
        assert!(half.reached.under_way[0].delayed);
        half.reach_echoed(at(101), Some(9));
        assert_eq!(una(&half), 2000);
    }

    #[test]
    fn an_echoed_ack_is_known_with_its_window() {
        let mut half = far_from_its_sender();
        half.knows(SeqNumber(3000), 500);
        assert_eq!(half.known_to_sender(), (BASE + 3000, Some(2000)));
        // It cannot have acknowledged what was not sent.
        half.knows(SeqNumber(200_000), 500);
        assert_eq!(una(&half), 100_000);
        half.agreed.scale_known = false;
        half.knows(SeqNumber(3000), 500);
        assert_eq!(half.known_to_sender(), (BASE + 3000, None));
    }

    #[test]
    fn without_a_clock_delays_are_unknown() {
        let half = far_from_its_sender();
        let peer = |due| PeerTimes {
            due,
            tick: ms(1),
            receiver_tick: ms(1),
            handshake: None,
            smoothed: ms(40),
            echoed: None,
            acks_all: false,
            quiet: false,
        };
        let (sent, reaction) = half.sent_by(at(100), half.path.prompt(), &peer(None));
        assert_eq!((sent, reaction.delays_unknown), (at(100), true));
        // With one it is known when it would have come: a tick and the clock's error later at most.
        let (sent, reaction) = half.sent_by(at(100), half.path.prompt(), &peer(Some(at(60))));
        assert_eq!((sent, reaction.delays_unknown), (at(62), false));
        assert_eq!(half.sent_by(at(60), half.path.prompt(), &peer(Some(at(60)))).0, at(60));
    }
}
