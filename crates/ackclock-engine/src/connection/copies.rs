//! Segments sent several times at once (I-A7): the copies, the duplicate acks that they cause, and the
//! reaction to a missing one.

use std::collections::VecDeque;

use ackclock_policy::{Congestion, EpisodeEnd, Phase};
use ackclock_trace::{LossClass, SendKind};
use ackclock_units::{Bytes, Instant, SeqRange};
use ackclock_wire::{Flags, Segment};

use super::{Connection, Transmit};
use crate::timer::Timer;

/// The largest number of segments whose duplicate acks are expected at a time. Further segments are not
/// copied.
const MOST_EXPECTED: usize = 64;

/// Copies to send, and duplicate acks expected for them. Allocated with the first copy.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// The segment that was just sent, and how many copies of it are still to be sent.
    due: Option<(SeqRange, u32)>,
    /// Copied segments, in the order of sending.
    expected: VecDeque<Expected>,
}

/// A segment that was copied.
#[derive(Clone, Copy, Debug)]
struct Expected {
    range: SeqRange,
    /// Duplicate acks that have not arrived.
    missing: u32,
    /// The longest that they are waited for: one retransmission timeout from when the segment was sent. The
    /// paper does not specify how long.
    until: Instant,
}

impl Connection {
    /// The segment at `range` is being sent. Plans its copies, so that it is sent `copies` times in all, as
    /// far as they fit into `room` beside the segment itself and the copies under way.
    #[cold]
    pub(super) fn plan_copies(&mut self, now: Instant, range: SeqRange, copies: u32, room: Bytes) {
        // Without SACK a duplicate ack does not identify the segment, unless nothing else is outstanding.
        if !self.sack_on && range.start != self.snd_una {
            return;
        }
        let under_way = self.rare.copies.as_ref().map_or(0, |c| {
            c.expected.iter().map(|e| u64::from(e.missing) * u64::from(e.range.len())).sum::<u64>()
        });
        let len = u64::from(range.len());
        let fit = room.saturating_sub(len + under_way) / len;
        let more = fit.min(u64::from(copies - 1)) as u32;
        let until = now + self.timeout;
        let in_use = u64::from(self.flight_size()) + under_way + u64::from(more) * len;
        self.note_usage(now, u32::try_from(in_use).unwrap_or(u32::MAX));
        let known = self.rare.make_mut().copies.get_or_insert_default();
        if more == 0 || known.expected.len() >= MOST_EXPECTED {
            return;
        }
        known.due = Some((range, more));
        known.expected.push_back(Expected { range, missing: more, until });
        if !self.timers.is_armed(Timer::Copies) {
            self.timers.arm(Timer::Copies, until);
        }
    }

    /// A copy of the last segment, if one is due.
    #[cold]
    pub(super) fn transmit_copy(&mut self, now: Instant) -> Option<Transmit> {
        let (range, left) = self.rare.part_mut(|r| r.copies.as_deref_mut())?.due.take()?;
        if range.start < self.snd_una {
            return None;
        }
        if left > 1 {
            self.rare.make_mut().copies.get_or_insert_default().due = Some((range, left - 1));
        }
        let (len, offset) = (range.len(), self.position(range.start));
        let push = if offset + u64::from(len) == self.send.end() { Flags::PSH } else { Flags::default() };
        self.sender.make_mut().quota = self.sender.quota.saturating_sub(u64::from(len));
        self.last_sent_at = now;
        self.sender.make_mut().pace(now, len);
        let ecn = self.rare.ecn.codepoint();
        let segment = self.segment(now, range.start, len, Flags::ACK | push);
        Some(Transmit { segment, offset, kind: SendKind::Copy, retransmission: true, ecn })
    }

    /// True when `segment` is the ack of a copy: the duplicate that it reports is no sign of a loss or of a
    /// spurious retransmission.
    #[cold]
    pub(super) fn acknowledges_copy(
        &mut self,
        segment: &Segment,
        advanced: u32,
        dsack: Option<SeqRange>,
    ) -> bool {
        let (sack, ack) = (self.sack_on, segment.ack);
        let Some(copies) = self.rare.part_mut(|r| r.copies.as_deref_mut()) else { return false };
        let place = match dsack {
            Some(dsack) => copies.expected.iter().position(|e| e.range.covers(dsack)),
            // Without SACK, an ack that repeats the acknowledgment of a copied segment.
            None if !sack && advanced == 0 && segment.seq_len() == 0 => {
                copies.expected.iter().position(|e| e.range.end <= ack)
            }
            None => None,
        };
        let Some(place) = place else { return false };
        let e = &mut copies.expected[place];
        e.missing -= 1;
        if e.missing == 0 {
            copies.expected.remove(place);
        }
        self.arm_copies();
        true
    }

    /// Arms the timer for the duplicate ack that is due first.
    fn arm_copies(&mut self) {
        match self.rare.copies.as_ref().and_then(|c| c.expected.iter().map(|e| e.until).min()) {
            Some(until) => self.timers.arm(Timer::Copies, until),
            None => self.timers.disarm(Timer::Copies),
        }
    }

    /// A duplicate ack has not arrived in time. If the segment was acknowledged, one of its copies was lost,
    /// and the window is reduced, once per window of data. If not, the retransmission timer handles its loss.
    #[cold]
    pub(super) fn copies_expired(&mut self, now: Instant) {
        let una = self.snd_una;
        let Some(copies) = self.rare.part_mut(|r| r.copies.as_deref_mut()) else { return };
        let lost = copies.expected.iter().any(|e| e.until <= now && e.range.end <= una);
        copies.expected.retain(|e| e.until > now);
        self.arm_copies();
        if !lost || !matches!(self.phase, Phase::Open | Phase::Disorder) {
            return;
        }
        self.begin_episode(now, LossClass::Ca);
        self.reduce(Congestion::Loss, now);
        if self.flight_size() > 0 {
            // Phase Cwr until what is outstanding is acknowledged, as after an ECN echo (RFC 3168 §6.1.2).
            self.phase = Phase::Cwr;
            self.sender.make_mut().recovery_point = self.snd_nxt;
            self.note_reduction();
        } else {
            self.end_repaired(now);
            self.notify_episode_end(EpisodeEnd::Completed, now);
        }
    }

    /// `range` is retransmitted, once, and its loss handled as any other.
    #[cold]
    pub(super) fn forget_copies_of(&mut self, range: SeqRange) {
        if let Some(copies) = self.rare.part_mut(|r| r.copies.as_deref_mut()) {
            copies.expected.retain(|e| e.range.end <= range.start || range.end <= e.range.start);
            self.arm_copies();
        }
    }

    /// The retransmission timer has expired: losses of copied segments are handled by that, and
    /// retransmissions are not copied.
    pub(super) fn forget_copies(&mut self) {
        if self.rare.copies.is_some() {
            self.rare.reset(|r| r.copies = None);
            self.timers.disarm(Timer::Copies);
        }
    }
}
