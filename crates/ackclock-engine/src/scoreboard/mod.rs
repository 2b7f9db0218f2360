//! The scoreboard: segments sent and not yet cumulatively acknowledged, with their marks (SACKed, lost,
//! retransmitted). Independent of the sender.

mod lost;
mod measured;
mod rates;
mod sack;
mod sent;

use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;

use ackclock_policy::{ScoreboardView, SentSegment};
use ackclock_units::{Duration, Instant, SeqNumber, SeqRange, SeqRanges, mostly, seldom};

use measured::Measured;
use rates::Rates;
pub(crate) use sent::MAX_LEN;
use sent::{FIN, LOST, RETRANSMITTED, SACKED, Sent};

/// Capacity up to this many segments is never given back.
const SPARE_SEGMENTS: usize = 128;

/// Capacity changes in multiples of this many segments.
const ROOM_STEP: usize = 8;

/// The longest time since the epoch that 40 bits hold.
const LONGEST: Duration = Duration::from_nanos((1 << 40) - 1);
/// Segments sent longer ago than this count as so old when the epoch is moved.
const OLDEST: Duration = Duration::from_secs(900);

/// What a cumulative acknowledgment has removed from the scoreboard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    /// Segments; a partly acknowledged one counts too.
    pub segments: u32,
    /// Their bytes that were not SACKed before.
    pub newly_delivered: u32,
    /// When the oldest of them was sent that was sent once and not SACKed before: the start of a round-trip
    /// sample.
    pub oldest_sent_once: Option<Instant>,
    /// True when some of them were sent more than once.
    pub retransmitted: bool,
    /// The last one is acknowledged in part.
    pub partly: bool,
}

/// The outstanding segments, with their marks and counts of marked bytes.
#[derive(Debug)]
pub(crate) struct OutstandingSegments {
    sent: VecDeque<Sent>,
    /// The times of segments are relative to this; none was sent earlier.
    epoch: Instant,
    /// SACKed ranges, merged, ascending. Their edges are segment edges.
    sacked: SeqRanges,
    sacked_bytes: u32,
    lost_bytes: u32,
    retransmitted_bytes: u32,
    /// No segment below it waits for retransmission. Atomic because reading updates it, and all threads share
    /// the one static empty scoreboard.
    lost_hint: AtomicU32,
    /// Measurements of deliveries, if a policy needs them.
    measured: Option<Box<Measured>>,
}

impl OutstandingSegments {
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

    /// Memory of its lists, bytes.
    pub fn held_bytes(&self) -> u64 {
        let rates = self.measured.as_ref().and_then(|m| m.rates.as_ref()).map_or(0, Rates::held_bytes);
        (self.sent.capacity() * size_of::<Sent>()) as u64 + self.sacked.held_bytes() + rates
    }

    /// Outstanding segments.
    #[inline]
    pub fn segments(&self) -> u32 {
        self.sent.len() as u32
    }

    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Packets of them, as Linux's queue of what may be sent again holds them: one for what has left at one moment, and
    /// one for neighbours that are SACKed (`tcp_fragment`, `tcp_shift_skb_data`).
    pub fn packets(&self) -> u32 {
        let joins = |(a, b): (&Sent, &Sent)| match (a.has(SACKED), b.has(SACKED)) {
            (false, false) => a.left_with(b),
            (before, now) => before && now,
        };
        let borders = self.sent.iter().zip(self.sent.iter().skip(1)).filter(|&pair| !joins(pair)).count();
        (borders + usize::from(!self.sent.is_empty())) as u32
    }

    /// Appends a segment that is being sent. It must follow the last one.
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

    /// Grows the capacity by a quarter instead of doubling it, since every connection has a scoreboard. In
    /// whole steps, since allocators reuse freed memory by size.
    #[cold]
    fn make_room(&mut self) {
        let len = self.sent.len();
        self.sent.reserve_exact((len + len / 4 + 1).next_multiple_of(ROOM_STEP) - len);
    }

    /// The time since the epoch, which is moved if that is too long.
    #[inline]
    fn since_epoch(&mut self, now: Instant) -> Duration {
        if now.since(self.epoch) > LONGEST {
            self.begin_epoch(now);
        }
        now.since(self.epoch)
    }

    /// Moves the epoch to when the oldest segment was sent. A segment sent more than a quarter of an hour ago
    /// counts as that old from then on, so that a policy that keeps times of transmissions finds a later one here.
    #[cold]
    fn begin_epoch(&mut self, now: Instant) {
        let before = self.epoch;
        let oldest = self.sent.iter().map(|s| s.sent_at(before)).min().unwrap_or(now);
        self.epoch = oldest.max(now.saturating_sub(OLDEST));
        for s in &mut self.sent {
            s.set_since_epoch(s.sent_at(before).since(self.epoch));
        }
    }

    /// Removes the last segment (a window probe that the receiver discarded).
    pub fn pop_back(&mut self) {
        if let Some(s) = self.sent.pop_back() {
            if let Some(rates) = self.rates() {
                rates.pop_back();
            }
            self.uncount(&s, s.len());
        }
    }

    /// How many of the `outstanding` bytes are in the network. `left` bytes have left it without being
    /// SACKed; they are never those marked lost, which are subtracted already.
    pub fn in_network(&self, outstanding: u32, left: u32) -> u32 {
        outstanding.saturating_sub(self.sacked_bytes + self.lost_bytes).saturating_sub(left)
            + self.retransmitted_bytes
    }

    /// How many of the bytes [in the network](OutstandingSegments::in_network) are sequence numbers of a FIN:
    /// its first transmission, unless it was SACKed or marked lost, and its retransmission.
    #[cold]
    pub fn fins_in_network(&self) -> u32 {
        let fin = self.sent.back().filter(|s| s.has(FIN));
        fin.map_or(0, |s| u32::from(!s.has(SACKED | LOST)) + u32::from(s.has(RETRANSMITTED)))
    }

    /// Segments in the network, as [`in_network`](Self::in_network) counts bytes.
    #[cold]
    pub fn segments_in_network(&self) -> u32 {
        if self.sacked_bytes + self.lost_bytes + self.retransmitted_bytes == 0 {
            return self.segments();
        }
        let of = |s: &Sent| u32::from(!s.has(SACKED | LOST)) + u32::from(s.has(RETRANSMITTED));
        self.sent.iter().map(of).sum()
    }

    /// Outstanding segments that are not SACKed.
    #[cold]
    pub fn unsacked_segments(&self) -> u32 {
        if self.sacked_bytes == 0 {
            return self.segments();
        }
        self.sent.iter().filter(|s| !s.has(SACKED)).count() as u32
    }

    /// Outstanding segments that are marked lost.
    #[cold]
    pub fn lost_segments(&self) -> u32 {
        if self.lost_bytes == 0 {
            return 0;
        }
        self.sent.iter().filter(|s| s.has(LOST)).count() as u32
    }

    /// When the oldest outstanding segment was last sent.
    pub fn oldest_sent_at(&self) -> Option<Instant> {
        self.sent.front().map(|s| s.sent_at(self.epoch))
    }

    /// Outstanding bytes that were first sent at or before `then`, from the oldest on. A retransmitted
    /// segment counts as sent before.
    pub fn sent_by(&self, then: Instant) -> u32 {
        let newer = self.sent.partition_point(|s| s.transmissions() > 1 || s.sent_at(self.epoch) <= then);
        newer.checked_sub(1).map_or(0, |i| self.sent[i].end().bytes_since(self.sent[0].seq))
    }

    /// Subtracts `bytes` of `s` from the counts of its marks.
    #[inline]
    fn uncount(&mut self, s: &Sent, bytes: u32) {
        if seldom(s.marks & (SACKED | LOST | RETRANSMITTED) != 0) {
            self.uncount_marks(*s, bytes);
        }
    }

    #[inline(never)]
    fn uncount_marks(&mut self, s: Sent, bytes: u32) {
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

    /// Removes everything below `ack`.
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
                acked.partly = true;
            }
            let retransmitted = s.transmissions() > 1;
            acked.segments += 1;
            acked.retransmitted |= retransmitted;
            if mostly(!s.has(SACKED)) {
                self.delivered(0, &s, bytes, whole, true);
                acked.newly_delivered += bytes;
                if !retransmitted && acked.oldest_sent_once.is_none() {
                    acked.oldest_sent_once = Some(s.sent_at(self.epoch));
                }
            }
            if seldom(self.measured.is_some())
                && whole
                && let Some(rates) = self.rates()
            {
                rates.pop_front();
            }
            self.uncount(&s, bytes);
        }
        self.sacked.forget_below(ack);
        if self.lost_hint() < ack {
            self.set_lost_hint(ack);
        }
        // Gives back memory that an overshoot of slow start used, with enough hysteresis that it is not
        // allocated again soon.
        if self.sent.capacity() >= SPARE_SEGMENTS && self.sent.len() * 4 <= self.sent.capacity() {
            self.sent.shrink_to((self.sent.len() * 2).next_multiple_of(ROOM_STEP));
        }
        acked
    }

    /// The outstanding segments in order of sequence number, from the one that holds `from`.
    pub fn segments_from(&self, from: SeqNumber) -> impl Iterator<Item = SentSegment> + '_ {
        self.sent.range(self.index_of(from)..).map(|s| s.view(self.epoch))
    }

    /// Index of the first segment that ends above `seq`.
    #[inline]
    fn index_of(&self, seq: SeqNumber) -> usize {
        let Some(first) = self.sent.front() else { return 0 };
        // Most segments have the same length: guess the index, and search only if the guess is wrong.
        let guess = (seq.bytes_since(first.seq) / first.len().max(1)) as usize;
        let guess = guess.min(self.sent.len());
        let after = guess.checked_sub(1).is_none_or(|i| self.sent[i].end() <= seq);
        let before = self.sent.get(guess).is_none_or(|s| s.end() > seq);
        if after && before { guess } else { self.sent.partition_point(|s| s.end() <= seq) }
    }

    /// Notes the retransmission of the segment that contains `seq`, split if it is longer than `limit` bytes.
    /// Returns its range and whether it carries the FIN, or `None` if it is SACKed or not outstanding.
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
        s.count_retransmission();
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

    /// The retransmission of the segment at `seq` is not to count as in the network.
    #[cold]
    pub fn uncount_retransmission(&mut self, seq: SeqNumber) {
        let i = self.index_of(seq);
        if let Some(s) = self.sent.get_mut(i).filter(|s| s.has(RETRANSMITTED)) {
            s.marks &= !RETRANSMITTED;
            self.retransmitted_bytes -= s.len();
        }
    }

    /// True where the segment at `seq` was retransmitted and that is counted as in the network.
    pub fn counts_retransmission(&self, seq: SeqNumber) -> bool {
        self.sent.get(self.index_of(seq)).is_some_and(|s| s.marks & (RETRANSMITTED | SACKED) == RETRANSMITTED)
    }

    /// Splits segment `i` after `len` bytes.
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

impl ScoreboardView for OutstandingSegments {
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
            // No segment below waits for retransmission.
            let next = found.map_or_else(|| self.sent.back().map_or(hint, Sent::end), |s| s.seq);
            self.set_lost_hint(next);
        }
        found.map(Sent::range)
    }

    fn next_unsacked(&self, from: SeqNumber) -> Option<SeqRange> {
        let mut from = from;
        // Skips whole SACKed ranges instead of walking their segments.
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

    fn has_marked_lost(&self) -> bool {
        self.lost_bytes > 0
    }

    /// `tcp_any_retrans_done`
    fn has_retransmissions(&self) -> bool {
        self.retransmitted_bytes > 0 || self.sent.front().is_some_and(|s| s.transmissions() > 1)
    }
}

#[cfg(test)]
#[path = "../tests/scoreboard.rs"]
mod tests;

#[cfg(test)]
#[path = "../tests/scoreboard_reference.rs"]
mod reference_tests;
