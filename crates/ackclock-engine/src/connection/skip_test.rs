//! A test whether the peer acknowledges what it has not got (Sherwood, Bhattacharjee & Braud 2005, "randomly
//! skipped segments").
//!
//! Now and then a new segment is left out while what follows it is sent. An honest receiver answers with
//! duplicate acks, and gets the segment a round trip late; one that acknowledges it before it was sent has
//! lied. For the recovery the segment is no loss: those duplicate acks are kept from it.

use ackclock_policy::Phase;
use ackclock_trace::SendKind;
use ackclock_units::{Duration, Instant, Rng, SeqRange};
use ackclock_wire::{Flags, Segment};

use super::{Connection, Transmit};
use crate::AbortReason;

/// For how many smoothed round trips after the late segment duplicate acks may be its own doing.
const PATIENCE_RTTS: u64 = 2;

/// Segments outstanding whose acks are sure to release what follows a segment that is left out, even where
/// two of them make one ack.
const UNDER_WAY_SEGS: u32 = 3;

/// How the test stands.
#[derive(Debug)]
pub(super) struct SkipTest {
    /// New segments until the next one is left out.
    left: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Everything is sent as usual.
    Idle,
    /// This segment counts as sent and was left out. `shown`: something that was sent after it has arrived.
    Skipped { range: SeqRange, shown: bool },
    /// It was sent late. Until then the duplicate acks that ask for it may come.
    Late { range: SeqRange, until: Instant },
}

impl Connection {
    /// Starts testing, if it was asked for.
    #[cold]
    pub(super) fn start_skip_test(&mut self) {
        let left = next(&mut self.rng, self.config.skip_test);
        self.rare.make().skip_test = Some(Box::new(SkipTest { left, stage: Stage::Idle }));
    }

    /// Gives the test up that runs: everything outstanding may be sent again, or already was.
    #[cold]
    pub(super) fn end_skip_test(&mut self) {
        if let Some(test) = self.rare.changed().and_then(|r| r.skip_test.as_mut()) {
            test.stage = Stage::Idle;
        }
    }

    /// `range` is sent again: should it be what was left out, the peer may have it.
    #[cold]
    pub(super) fn sent_anyway(&mut self, range: SeqRange) {
        let Some(test) = self.rare.part(|r| r.skip_test.as_deref_mut()) else { return };
        if matches!(test.stage, Stage::Skipped { range: skipped, .. } if range.start < skipped.end && skipped.start < range.end)
        {
            test.stage = Stage::Idle;
        }
    }

    /// What goes out instead of `transmit`: what was left out once its time has come, or what follows, where
    /// this is to be left out.
    #[cold]
    pub(super) fn test_by_skipping(&mut self, now: Instant, transmit: Option<Transmit>) -> Option<Transmit> {
        let Some(t) = transmit else { return self.send_skipped(now) };
        // Something follows it, now or with the acks that are under way.
        let under_way = self.flight_size().saturating_sub(t.segment.len) >= UNDER_WAY_SEGS * self.smss;
        let follows = self.unsent() >= u64::from(self.smss)
            && (under_way || self.view(now).room() >= u64::from(self.smss));
        let (every, open, una) = (self.config.skip_test, self.phase == Phase::Open, self.snd_una);
        let test = self.rare.part(|r| r.skip_test.as_deref_mut())?;
        if t.kind != SendKind::New || t.segment.len == 0 {
            return Some(t);
        }
        let runs = match test.stage {
            Stage::Idle => false,
            Stage::Skipped { .. } => true,
            Stage::Late { range, .. } => una < range.end,
        };
        test.left = test.left.saturating_sub(1);
        if test.left > 0 || !follows || !open || runs {
            return Some(t);
        }
        test.left = next(&mut self.rng, every);
        let range = SeqRange::new(t.segment.seq, t.segment.seq + t.segment.len);
        test.stage = Stage::Skipped { range, shown: false };
        let next = self.transmit_data(now);
        if next.is_none() && !under_way {
            // Should what follows not go out after all, this does.
            self.end_skip_test();
            return Some(t);
        }
        next
    }

    /// The segment that was left out, once something sent after it has arrived.
    fn send_skipped(&mut self, now: Instant) -> Option<Transmit> {
        let Stage::Skipped { range, shown: true } = self.rare.skip_test.as_ref()?.stage else { return None };
        let rtt = self.estimator.rtt().map_or(Duration::ZERO, |r| r.srtt);
        self.rare.part(|r| r.skip_test.as_deref_mut())?.stage =
            Stage::Late { range, until: now + rtt * PATIENCE_RTTS };
        // In the books it is a retransmission, since what was sent after its first place in them is older: no
        // sample is taken of it.
        self.sender.make().sent.retransmit(range.start, range.len(), now)?;
        let v = self.view(now);
        self.sender.policies().recovery.on_retransmit(range, &v);
        let offset = self.position(range.start);
        let segment = self.segment(now, range.start, range.len(), Flags::ACK);
        let ecn = self.rare.ecn.codepoint();
        Some(Transmit { segment, offset, kind: SendKind::New, retransmission: false, ecn })
    }

    /// Reads what `segment` says of the one that was left out. Returns true when the connection has ended:
    /// the peer acknowledges what was never sent.
    #[cold]
    pub(super) fn judge_skipped(&mut self, now: Instant, segment: &Segment) -> bool {
        let Some(test) = self.rare.part(|r| r.skip_test.as_deref_mut()) else { return false };
        let Stage::Skipped { range, shown } = &mut test.stage else { return false };
        let blocks = segment.options.sack.as_slice();
        let reported =
            blocks.iter().any(|b| b.end > range.start && b.start < range.end && b.start >= self.snd_una);
        if segment.ack > range.start || reported {
            self.give_up(AbortReason::FalseAck, now);
            return true;
        }
        let asked_for = segment.ack == range.start && self.snd_una == range.start;
        *shown |= asked_for || blocks.iter().any(|b| b.start >= range.end && b.end <= self.snd_nxt);
        false
    }

    /// True while a duplicate ack says no more than that the segment is missing which was left out.
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

/// How many segments pass until the next test: `every` on average, so that the peer cannot know which one is
/// left out.
fn next(rng: &mut Rng, every: u64) -> u64 {
    1 + rng.below(2 * every - 1)
}
