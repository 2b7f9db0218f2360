//! A test whether the peer acknowledges data that it has not received (Sherwood, Bhattacharjee & Braud 2005,
//! "randomly skipped segments").
//!
//! At random intervals a new segment is skipped, and the ones after it are sent. A correct receiver responds
//! with duplicate acks, and gets the segment one round trip late. A receiver that acknowledges it before it
//! was sent is misbehaving. The loss recovery never sees those duplicate acks, since the segment is not lost.

use ackclock_policy::Phase;
use ackclock_trace::SendKind;
use ackclock_units::{Duration, Instant, Rng, SeqRange};
use ackclock_wire::{Flags, Segment};

use super::{Connection, Transmit};
use crate::AbortReason;

/// Smoothed round trips after the late transmission during which duplicate acks may still be caused by the
/// skipped segment.
const PATIENCE_RTTS: u64 = 2;

/// With so many segments outstanding, their acks are certain to release the segment after the skipped one,
/// even with one ack for two segments.
const UNDER_WAY_SEGS: u32 = 3;

/// State of the test.
#[derive(Debug)]
pub(super) struct SkipTest {
    /// New segments until the next one is skipped.
    countdown: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Everything is sent as usual.
    Idle,
    /// This segment was skipped, though the scoreboard has it as sent. `later_arrived`: the peer has reported
    /// a segment sent after it.
    Skipped { range: SeqRange, later_arrived: bool },
    /// The skipped segment was sent late. Duplicate acks for it may arrive until then.
    Late { range: SeqRange, until: Instant },
}

impl Connection {
    /// Starts testing.
    #[cold]
    pub(super) fn start_skip_test(&mut self) {
        let countdown = next(&mut self.rng, self.config.skip_test);
        self.rare.make_mut().skip_test = Some(Box::new(SkipTest { countdown, stage: Stage::Idle }));
    }

    /// Abandons a running test: everything outstanding was or may be retransmitted.
    #[cold]
    pub(super) fn end_skip_test(&mut self) {
        if let Some(test) = self.rare.allocated_mut().and_then(|r| r.skip_test.as_mut()) {
            test.stage = Stage::Idle;
        }
    }

    /// `range` is retransmitted. If it contains the skipped segment, the peer may have that from now on, and
    /// the test ends.
    #[cold]
    pub(super) fn note_skipped_retransmission(&mut self, range: SeqRange) {
        let Some(test) = self.rare.part_mut(|r| r.skip_test.as_deref_mut()) else { return };
        let overlaps = |skipped: SeqRange| range.start < skipped.end && skipped.start < range.end;
        if matches!(test.stage, Stage::Skipped { range: skipped, .. } if overlaps(skipped)) {
            test.stage = Stage::Idle;
        }
    }

    /// Returns what to send instead of `transmit`: the skipped segment when it is time to send it, or the
    /// segment after `transmit` if `transmit` is to be skipped.
    #[cold]
    pub(super) fn apply_skip_test(&mut self, now: Instant, transmit: Option<Transmit>) -> Option<Transmit> {
        let Some(t) = transmit else { return self.transmit_skipped(now) };
        // A segment must follow the skipped one, now or released by acks that are under way.
        let acks_under_way = self.flight_size().saturating_sub(t.segment.len) >= UNDER_WAY_SEGS * self.smss;
        let follows = self.unsent() >= u64::from(self.smss)
            && (acks_under_way || self.view(now).room() >= u64::from(self.smss));
        let (every, open, una) = (self.config.skip_test, self.phase == Phase::Open, self.snd_una);
        let test = self.rare.part_mut(|r| r.skip_test.as_deref_mut())?;
        if t.kind != SendKind::New || t.segment.len == 0 {
            return Some(t);
        }
        let running = match test.stage {
            Stage::Idle => false,
            Stage::Skipped { .. } => true,
            Stage::Late { range, .. } => una < range.end,
        };
        test.countdown = test.countdown.saturating_sub(1);
        if test.countdown > 0 || !follows || !open || running {
            return Some(t);
        }
        test.countdown = next(&mut self.rng, every);
        let range = SeqRange::new(t.segment.seq, t.segment.seq + t.segment.len);
        test.stage = Stage::Skipped { range, later_arrived: false };
        let next = self.transmit_data(now);
        if next.is_none() && !acks_under_way {
            // If the following segment cannot be sent after all, nothing is skipped.
            self.end_skip_test();
            return Some(t);
        }
        next
    }

    /// The skipped segment, once a segment sent after it has arrived.
    fn transmit_skipped(&mut self, now: Instant) -> Option<Transmit> {
        let Stage::Skipped { range, later_arrived: true } = self.rare.skip_test.as_ref()?.stage else {
            return None;
        };
        let rtt = self.estimator.rtt().map_or(Duration::ZERO, |r| r.srtt);
        self.rare.part_mut(|r| r.skip_test.as_deref_mut())?.stage =
            Stage::Late { range, until: now + rtt * PATIENCE_RTTS };
        // The scoreboard treats it as a retransmission, since it is sent later than the segments after it. So
        // no round-trip sample is taken of it.
        self.sender.make_mut().sent.retransmit(range.start, range.len(), now)?;
        let v = self.view(now);
        self.sender.policies().recovery.on_retransmit(range, &v);
        let offset = self.position(range.start);
        let segment = self.segment(now, range.start, range.len(), Flags::ACK);
        let ecn = self.rare.ecn.codepoint();
        Some(Transmit { segment, offset, kind: SendKind::New, retransmission: false, ecn })
    }

    /// Checks an ack against the skipped segment. Returns true if the connection was aborted, because the
    /// peer acknowledged the segment before it was sent.
    #[cold]
    pub(super) fn check_skip_test(&mut self, now: Instant, segment: &Segment) -> bool {
        let Some(test) = self.rare.part_mut(|r| r.skip_test.as_deref_mut()) else { return false };
        let Stage::Skipped { range, later_arrived } = &mut test.stage else { return false };
        let blocks = segment.options.sack.as_slice();
        let reported =
            blocks.iter().any(|b| b.end > range.start && b.start < range.end && b.start >= self.snd_una);
        if segment.ack > range.start || reported {
            self.give_up(AbortReason::FalseAck, now);
            return true;
        }
        let dup_ack = segment.ack == range.start && self.snd_una == range.start;
        *later_arrived |= dup_ack || blocks.iter().any(|b| b.start >= range.end && b.end <= self.snd_nxt);
        false
    }

    /// True while duplicate acks are explained by the skipped segment.
    #[cold]
    pub(super) fn expects_duplicates(&self, now: Instant) -> bool {
        self.phase == Phase::Open
            && self.rare.skip_test.as_ref().is_some_and(|test| match test.stage {
                Stage::Idle => false,
                Stage::Skipped { range, .. } => self.snd_una == range.start,
                Stage::Late { range, until } => self.snd_una == range.start && now <= until,
            })
    }
}

/// Segments until the next test: random with mean `every`, so that the peer cannot predict which one is
/// skipped.
fn next(rng: &mut Rng, every: u64) -> u64 {
    1 + rng.below(2 * every - 1)
}
