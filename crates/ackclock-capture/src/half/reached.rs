//! Acks on their way from the capture to the sender. What a sender may send depends on what has reached it:
//! near the data's receiver, an ack is captured a good part of a round trip earlier.

use std::collections::VecDeque;

use ackclock_units::{Duration, Instant};

use super::{Half, PeerTimes};
use crate::thresholds::THRESHOLDS;

/// Acks kept; those that pass in quick succession are taken together.
const MOST_ACKS: usize = 32;
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
    una: u64,
    /// The window that it offers, where that is known.
    room: Option<u64>,
    progress: bool,
    opening: bool,
}

impl Half {
    /// True if the way from the capture to the sender is long enough to matter.
    fn is_far_from_sender(&self) -> bool {
        self.path.far.is_some_and(|far| self.path.near > far / THRESHOLDS.order.at_sender_part)
    }

    /// Takes an ack, or a changed window, for what limits the sender.
    pub(super) fn pass_ack(&mut self, at: Instant, progress: bool, opening: bool) {
        let passed = PassedAck { at, una: self.space.una, room: self.heard.room(), progress, opening };
        if !self.is_far_from_sender() {
            self.reach(at);
            self.apply(&passed);
            return;
        }
        let near = self.path.near;
        let passed = PassedAck { at: at + near, ..passed };
        let queue = &mut self.reached.under_way;
        let full = queue.len() >= MOST_ACKS;
        match queue.back_mut() {
            Some(last) if full || passed.at.since(last.at) < near / TOGETHER => {
                *last = PassedAck {
                    at: last.at,
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
        while let Some(next) = self.reached.under_way.front().copied().filter(|a| a.at <= at) {
            self.reached.under_way.pop_front();
            self.apply(&next);
        }
    }

    fn apply(&mut self, ack: &PassedAck) {
        self.reached.latest = Some((ack.una, ack.room));
        self.limits.acked(&self.send_state(ack.at), ack.progress, ack.opening);
    }

    /// What is acknowledged and the window, as far as they have reached the sender.
    pub(super) fn known_to_sender(&self) -> (u64, Option<u64>) {
        self.reached.latest.unwrap_or((self.space.una, self.heard.room()))
    }

    /// When a packet that is captured at `at` would have passed the capture without delay on its way, by its
    /// sender's clock; and the longest time after an ack that counts as a reaction to it.
    pub(super) fn sent_by(&self, at: Instant, peer: &PeerTimes) -> (Instant, Duration) {
        let prompt = self.path.prompt();
        match peer.due.filter(|_| self.is_far_from_sender()) {
            Some(due) => {
                // A timestamp is known to a tick.
                let slack = peer.tick + THRESHOLDS.acked.clock;
                ((due + slack).min(at), prompt.saturating_sub(self.path.near) + slack)
            }
            // Without its clock, a delay on the way is indistinguishable from one of the sender.
            None => (at, prompt),
        }
    }
}
