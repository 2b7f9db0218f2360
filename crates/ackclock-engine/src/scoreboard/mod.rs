//! What was sent and is not yet cumulatively acknowledged, with its marks: SACKed, lost, retransmitted. No
//! view of the sender.

mod measured;
mod rates;
mod sack;
mod sent;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};

use ackclock_policy::{ScoreboardView, SentSegment};
use ackclock_units::{Duration, Instant, SeqNumber, SeqRange, SeqRanges, mostly, seldom};

use measured::Measured;
use rates::Rates;
pub(crate) use sent::MAX_LEN;
use sent::{AGAIN_BITS, FIN, KEPT, LOST, RETRANSMITTED, SACKED, Sent, WAS_LOST, WAS_RETRANSMITTED};

/// Room for so many segments is kept whatever is outstanding.
const SPARE_SEGMENTS: usize = 128;

/// Room is made and given back for multiples of so many segments.
const ROOM_STEP: usize = 8;

/// The longest time that 40 bits hold, and a shorter one.
const LONGEST: Duration = Duration::from_nanos((1 << 40) - 1);
const QUARTER_OF_AN_HOUR: Duration = Duration::from_secs(900);

/// What a cumulative acknowledgment took off the scoreboard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    /// Segments, a part counting as one.
    pub segments: u32,
    /// Bytes among them that no SACK had reported before.
    pub newly_delivered: u32,
    /// When the oldest of them that was sent once and not SACKed before was sent: the start of a round-trip
    /// sample.
    pub oldest_sent_once: Option<Instant>,
    /// Some of them had been sent more than once.
    pub retransmitted: bool,
}

#[derive(Debug)]
pub(crate) struct Scoreboard {
    sent: VecDeque<Sent>,
    /// What the times of segments count from; none was sent before.
    epoch: Instant,
    /// SACKed ranges, merged, ascending. Their edges are segment edges.
    sacked: SeqRanges,
    sacked_bytes: u32,
    lost_bytes: u32,
    retransmitted_bytes: u32,
    /// No segment below it is waiting for a retransmission. Found out while reading; one scoreboard, the
    /// empty one, is read by all threads.
    lost_hint: AtomicU32,
    /// What is measured besides, where somebody wants to know.
    measured: Option<Box<Measured>>,
}

impl Scoreboard {
    pub const fn new() -> Self {
        Self {
            sent: VecDeque::new(),
            epoch: Instant::ZERO,
            sacked: SeqRanges::new(),
            sacked_bytes: 0,
            lost_bytes: 0,
            retransmitted_bytes: 0,
            lost_hint: AtomicU32::new(0),
            measured: None,
        }
    }

    #[inline]
    fn lost_hint(&self) -> SeqNumber {
        SeqNumber(self.lost_hint.load(Ordering::Relaxed))
    }

    #[inline]
    fn set_lost_hint(&self, seq: SeqNumber) {
        self.lost_hint.store(seq.0, Ordering::Relaxed);
    }

    /// Memory that its lists take, bytes.
    pub fn held_bytes(&self) -> u64 {
        let rates = self.measured.as_ref().and_then(|m| m.rates.as_ref()).map_or(0, Rates::held_bytes);
        (self.sent.capacity() * size_of::<Sent>()) as u64 + self.sacked.held_bytes() + rates
    }

    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Appends a segment just sent; it must follow the last one.
    #[inline(always)]
    pub fn push(&mut self, seq: SeqNumber, len: u32, fin: bool, now: Instant) {
        if self.sent.is_empty() {
            self.set_lost_hint(seq);
            self.epoch = now;
        }
        let since = self.since_epoch(now);
        let marks = if fin { FIN } else { 0 };
        debug_assert!(len <= MAX_LEN, "the handshake bounds a segment's size");
        if self.sent.len() == self.sent.capacity() {
            self.make_room();
        }
        let mut sent = Sent { seq, since_epoch: 0, short_len: len as u16, since_epoch_high: 0, marks };
        sent.set_since_epoch(since);
        self.sent.push_back(sent);
        if seldom(self.measured.is_some()) {
            self.measure_departure(None, now);
        }
    }

    /// Room for a quarter more segments, not twice as many: there are as many scoreboards as connections. In
    /// whole steps, since allocators keep what is given back by its size.
    #[cold]
    fn make_room(&mut self) {
        let len = self.sent.len();
        self.sent.reserve_exact((len + len / 4 + 1).next_multiple_of(ROOM_STEP) - len);
    }

    /// The time that has passed since the epoch.
    #[inline]
    fn since_epoch(&mut self, now: Instant) -> Duration {
        if now.since(self.epoch) > LONGEST {
            self.begin_epoch(now);
        }
        now.since(self.epoch)
    }

    /// Lets the times count from a later moment, that of the oldest segment. One older than a quarter of an
    /// hour keeps that age: no rule looks back so far.
    #[cold]
    fn begin_epoch(&mut self, now: Instant) {
        let before = self.epoch;
        let oldest = self.sent.iter().map(|s| s.sent_at(before)).min().unwrap_or(now);
        self.epoch = oldest.max(now.saturating_sub(QUARTER_OF_AN_HOUR));
        for s in &mut self.sent {
            s.set_since_epoch(s.sent_at(before).since(self.epoch));
        }
    }

    /// Takes back the last segment (a window probe that the receiver turned away).
    pub fn pop_back(&mut self) {
        if let Some(s) = self.sent.pop_back() {
            if let Some(rates) = self.rates() {
                rates.pop_back();
            }
            self.forget(&s, s.len());
        }
    }

    /// Bytes in the network of those `outstanding`, when `left` bytes have left it that no SACK tells of.
    /// What is taken for lost is counted out already: these can only be of the others.
    pub fn in_network(&self, outstanding: u32, left: u32) -> u32 {
        outstanding.saturating_sub(self.sacked_bytes + self.lost_bytes).saturating_sub(left)
            + self.retransmitted_bytes
    }

    /// How many of the bytes [in the network](Scoreboard::in_network) are sequence numbers of a FIN that was
    /// sent: its first transmission, unless it has arrived or is taken for lost, and its retransmission.
    #[cold]
    pub fn fins_in_network(&self) -> u32 {
        let fin = self.sent.back().filter(|s| s.has(FIN));
        fin.map_or(0, |s| u32::from(!s.has(SACKED | LOST)) + u32::from(s.has(RETRANSMITTED)))
    }

    pub fn oldest_sent_at(&self) -> Option<Instant> {
        self.sent.front().map(|s| s.sent_at(self.epoch))
    }

    /// Bytes from the oldest outstanding one on that had first been sent by `then`. What has been sent again
    /// since counts as that old.
    pub fn sent_by(&self, then: Instant) -> u32 {
        let newer = self.sent.partition_point(|s| s.transmissions() > 1 || s.sent_at(self.epoch) <= then);
        newer.checked_sub(1).map_or(0, |i| self.sent[i].end().bytes_since(self.sent[0].seq))
    }

    /// True while some segment is marked lost and not yet retransmitted.
    pub fn has_lost(&self) -> bool {
        seldom(self.lost_bytes > 0) && self.next_lost(self.lost_hint()).is_some()
    }

    /// Bytes marked lost and not yet retransmitted.
    pub fn to_resend(&self) -> u32 {
        self.lost_bytes.saturating_sub(self.retransmitted_bytes)
    }

    #[inline]
    fn forget(&mut self, s: &Sent, bytes: u32) {
        if seldom(s.marks & (SACKED | LOST | RETRANSMITTED) != 0) {
            self.forget_marks(s, bytes);
        }
    }

    #[inline(never)]
    fn forget_marks(&mut self, s: &Sent, bytes: u32) {
        if s.has(SACKED) {
            self.sacked_bytes -= bytes;
        }
        if s.has(LOST) {
            self.lost_bytes -= bytes;
        }
        if s.has(RETRANSMITTED) {
            self.retransmitted_bytes -= bytes;
        }
    }

    /// Takes off everything below `ack`.
    pub fn acknowledge(&mut self, ack: SeqNumber) -> Acked {
        let mut acked = Acked::default();
        while let Some(front) = self.sent.front_mut() {
            if front.seq >= ack {
                break;
            }
            let s = *front;
            let whole = mostly(s.end() <= ack);
            let bytes = if whole { s.len() } else { ack.bytes_since(s.seq) };
            if whole {
                self.sent.pop_front();
            } else {
                front.seq = ack;
                front.short_len -= bytes as u16;
            }
            if !s.has(SACKED) {
                self.delivered(0, &s, bytes, whole);
            }
            if whole && let Some(rates) = self.rates() {
                rates.pop_front();
            }
            self.forget(&s, bytes);
            acked.segments += 1;
            acked.retransmitted |= s.transmissions() > 1;
            if !s.has(SACKED) {
                acked.newly_delivered += bytes;
                if s.transmissions() == 1 && acked.oldest_sent_once.is_none() {
                    acked.oldest_sent_once = Some(s.sent_at(self.epoch));
                }
            }
        }
        self.sacked.forget_below(ack);
        if self.lost_hint() < ack {
            self.set_lost_hint(ack);
        }
        // What an overshoot of slow start took is given back, far from where it would be taken again.
        if self.sent.capacity() >= SPARE_SEGMENTS && self.sent.len() * 4 <= self.sent.capacity() {
            self.sent.shrink_to((self.sent.len() * 2).next_multiple_of(ROOM_STEP));
        }
        acked
    }

    /// The outstanding segments in order of sequence number, from the one that holds `from`.
    pub fn segments_from(&self, from: SeqNumber) -> impl Iterator<Item = SentSegment> + '_ {
        self.sent.range(self.index_of(from)..).map(|s| s.view(self.epoch))
    }

    /// How many segments end at or before `seq`.
    #[inline]
    fn index_of(&self, seq: SeqNumber) -> usize {
        let Some(first) = self.sent.front() else { return 0 };
        // Segments are mostly of one length: guess, and search only where the guess is wrong.
        let guess = (seq.bytes_since(first.seq) / first.len().max(1)) as usize;
        let guess = guess.min(self.sent.len());
        let after = guess.checked_sub(1).is_none_or(|i| self.sent[i].end() <= seq);
        let before = self.sent.get(guess).is_none_or(|s| s.end() > seq);
        if after && before { guess } else { self.sent.partition_point(|s| s.end() <= seq) }
    }

    /// Marks the un-SACKed segments that lie in `range` as lost; a retransmission that was out is given up as
    /// well. Returns the bytes of which this is news.
    pub fn mark_lost(&mut self, range: SeqRange) -> u32 {
        let mut lost = 0;
        if range.is_empty() {
            return lost;
        }
        let first = self.index_of(range.start);
        for s in self.sent.range_mut(first..) {
            if s.seq >= range.end {
                break;
            }
            if s.has(SACKED) {
                continue;
            }
            if !s.has(LOST) {
                self.lost_bytes += s.len();
            }
            if s.has(RETRANSMITTED) {
                self.retransmitted_bytes -= s.len();
            }
            if s.marks & (LOST | RETRANSMITTED) != LOST {
                lost += s.len();
            }
            s.marks = (s.marks & KEPT) | LOST;
        }
        if let Some(rates) = self.rates() {
            rates.lose(lost);
        }
        if range.start < self.lost_hint() {
            self.set_lost_hint(range.start);
        }
        lost
    }

    /// Notes which segments are marked lost and retransmitted now, for [`Scoreboard::restore_marks`].
    pub fn save_marks(&mut self) {
        for s in &mut self.sent {
            s.marks &= !(WAS_LOST | WAS_RETRANSMITTED);
            s.marks |= (s.marks & (LOST | RETRANSMITTED)) << 3;
        }
        if let Some(rates) = self.rates() {
            rates.save_lost();
        }
    }

    /// Takes back every such mark made since [`Scoreboard::save_marks`]; SACKs stay.
    pub fn restore_marks(&mut self) {
        (self.lost_bytes, self.retransmitted_bytes) = (0, 0);
        if let Some(rates) = self.rates() {
            rates.restore_lost();
        }
        for s in &mut self.sent {
            s.marks = (s.marks & (SACKED | FIN | AGAIN_BITS)) | ((s.marks >> 3) & (LOST | RETRANSMITTED));
            if s.has(LOST) {
                self.lost_bytes += s.len();
            }
            if s.has(RETRANSMITTED) {
                self.retransmitted_bytes += s.len();
            }
        }
        if let Some(first) = self.sent.front() {
            self.set_lost_hint(first.seq);
        }
    }

    /// The outstanding segment that begins at or holds `seq`, cut to at most `limit` bytes (splitting it
    /// where it is longer), noted as sent again now. Returns its range, and whether it carries the FIN.
    pub fn retransmit(&mut self, seq: SeqNumber, limit: u32, now: Instant) -> Option<(SeqRange, bool)> {
        let i = self.index_of(seq);
        if self.sent.get(i)?.has(SACKED) {
            return None;
        }
        let data = self.sent[i].len() - u32::from(self.sent[i].has(FIN));
        if data > limit {
            self.split(i, limit);
        }
        let since = self.since_epoch(now);
        let s = &mut self.sent[i];
        s.set_since_epoch(since);
        s.sent_again();
        if !s.has(RETRANSMITTED) {
            s.marks |= RETRANSMITTED;
            self.retransmitted_bytes += s.len();
        }
        let sent = (s.range(), s.has(FIN));
        if seldom(self.measured.is_some()) {
            self.measure_departure(Some(i), now);
        }
        Some(sent)
    }

    fn split(&mut self, i: usize, len: u32) {
        let mut tail = self.sent[i];
        tail.seq += len;
        tail.short_len -= len as u16;
        let head = &mut self.sent[i];
        head.short_len = len as u16;
        head.marks &= !FIN;
        self.sent.insert(i + 1, tail);
        if let Some(rates) = self.rates() {
            rates.split(i);
        }
    }
}

impl ScoreboardView for Scoreboard {
    fn sacked(&self) -> &[SeqRange] {
        &self.sacked
    }

    fn next_lost(&self, from: SeqNumber) -> Option<SeqRange> {
        if self.lost_bytes == 0 {
            return None;
        }
        let hint = self.lost_hint();
        let first = self.index_of(from.max(hint));
        let found = self.sent.range(first..).find(|s| s.marks & (LOST | RETRANSMITTED | SACKED) == LOST);
        if from <= hint {
            // Everything below was looked at and does not wait.
            let next = found.map_or_else(|| self.sent.back().map_or(hint, Sent::end), |s| s.seq);
            self.set_lost_hint(next);
        }
        found.map(Sent::range)
    }

    fn next_unsacked(&self, from: SeqNumber) -> Option<SeqRange> {
        let mut from = from;
        // Jump over whole SACKed ranges instead of walking them.
        let i = self.sacked.partition_point(|r| r.end <= from);
        if let Some(r) = self.sacked.get(i).filter(|r| r.start <= from) {
            from = r.end;
        }
        self.sent.get(self.index_of(from)).map(Sent::range)
    }

    fn segment(&self, seq: SeqNumber) -> Option<SentSegment> {
        let s = self.sent.get(self.index_of(seq))?;
        s.range().contains(seq).then(|| s.view(self.epoch))
    }
}

#[cfg(test)]
#[path = "../tests/scoreboard.rs"]
mod tests;
