use ackclock_units::{Instant, SeqNumber, SeqRange};

use crate::{Deliveries, ScoreboardView, SentSegment, Transmission};

/// A reference scoreboard for tests: a list of segments, searched from the front.
#[derive(Clone, Debug, Default)]
pub struct ReferenceScoreboard {
    segments: Vec<SentSegment>,
    sacked: Vec<SeqRange>,
    deliveries: Deliveries,
}

impl ReferenceScoreboard {
    /// `n` segments of `len` bytes from `start` on, each sent once.
    pub fn of(start: SeqNumber, n: u32, len: u32) -> Self {
        let mut board = Self::default();
        (0..n).for_each(|i| board.push(SeqRange::new(start + i * len, start + (i + 1) * len), Instant::ZERO));
        board
    }

    /// Moves the last transmission of the segment at `seq` to `at`, as a scoreboard does with one of long ago.
    pub fn move_time(&mut self, seq: SeqNumber, at: Instant) {
        let segment = self.segments.iter_mut().find(|s| s.range.start == seq).expect("outstanding");
        segment.xmit_ts = at;
    }

    /// Adds a new segment, sent `now`.
    pub fn push(&mut self, range: SeqRange, now: Instant) {
        self.segments.push(SentSegment { range, xmit_ts: now, transmissions: 1, sacked: false, lost: false });
    }

    /// What was delivered since the last call.
    pub fn take_deliveries(&mut self) -> Deliveries {
        std::mem::take(&mut self.deliveries)
    }

    /// Removes the whole segments below `ack`; returns how many.
    pub fn acknowledge(&mut self, ack: SeqNumber) -> u32 {
        let before = self.segments.len();
        let news = self.segments.iter().filter(|s| s.range.end <= ack && !s.sacked);
        news.for_each(|s| {
            self.deliveries.add(
                Transmission { xmit_ts: s.xmit_ts, end_seq: s.range.end },
                s.transmissions == 1,
                true,
            )
        });
        self.segments.retain(|s| s.range.end > ack);
        self.merge();
        (before - self.segments.len()) as u32
    }

    /// Marks the segments in `range` as SACKed; returns the bytes newly SACKed.
    pub fn sack(&mut self, range: SeqRange) -> u64 {
        let mut news = 0;
        for s in self.segments.iter_mut().filter(|s| range.covers(s.range) && !s.sacked) {
            (s.sacked, s.lost) = (true, false);
            news += u64::from(s.range.len());
            self.deliveries.add(
                Transmission { xmit_ts: s.xmit_ts, end_seq: s.range.end },
                s.transmissions == 1,
                false,
            );
        }
        self.merge();
        news
    }

    /// Marks the un-SACKed segments that begin in `range` as lost.
    pub fn mark_lost(&mut self, range: SeqRange) {
        self.segments
            .iter_mut()
            .filter(|s| range.contains(s.range.start) && !s.sacked)
            .for_each(|s| s.lost = true);
    }

    /// Notes that the segment at `seq` is retransmitted.
    pub fn retransmit(&mut self, seq: SeqNumber, now: Instant) {
        for s in self.segments.iter_mut().filter(|s| s.range.start == seq) {
            (s.lost, s.xmit_ts) = (false, now);
            s.transmissions += 1;
        }
    }

    /// Segments that are marked lost and not yet retransmitted.
    pub fn lost(&self) -> Vec<SeqNumber> {
        self.segments.iter().filter(|s| s.lost).map(|s| s.range.start).collect()
    }

    /// What has been sent and not acknowledged.
    pub fn outstanding(&self) -> &[SentSegment] {
        &self.segments
    }

    fn merge(&mut self) {
        self.sacked.clear();
        for s in self.segments.iter().filter(|s| s.sacked) {
            match self.sacked.last_mut().filter(|last| last.end == s.range.start) {
                Some(last) => last.end = s.range.end,
                None => self.sacked.push(s.range),
            }
        }
    }
}

impl ScoreboardView for ReferenceScoreboard {
    fn sacked(&self) -> &[SeqRange] {
        &self.sacked
    }

    fn next_lost(&self, from: SeqNumber) -> Option<SeqRange> {
        self.segments.iter().find(|s| s.range.end > from && s.lost).map(|s| s.range)
    }

    fn next_unsacked(&self, from: SeqNumber) -> Option<SeqRange> {
        self.segments.iter().find(|s| s.range.end > from && !s.sacked).map(|s| s.range)
    }

    fn segment(&self, seq: SeqNumber) -> Option<SentSegment> {
        self.segments.iter().find(|s| s.range.contains(seq)).copied()
    }

    fn has_marked_lost(&self) -> bool {
        self.segments.iter().any(|s| !s.sacked && (s.lost || s.transmissions > 1))
    }

    fn has_retransmissions(&self) -> bool {
        self.segments.iter().any(|s| s.transmissions > 1 && !s.sacked && !s.lost)
    }
}
