use std::collections::VecDeque;

use ackclock_units::{Instant, SeqNumber, SeqRange};

use crate::{ScoreboardView, SenderView, SentSegment, Transmission};

/// Retransmitted segments that are not known to be delivered or lost, in the order of their last
/// transmission. An ack examines only those sent before the latest delivered one, whatever else is
/// outstanding.
#[derive(Debug, Default)]
pub(super) struct Retransmitted(VecDeque<(SeqRange, Instant)>);

/// Capacity that is kept for later.
const SPARE: usize = 32;

impl Retransmitted {
    /// `range` was retransmitted now.
    pub fn push(&mut self, range: SeqRange, now: Instant) {
        self.0.push_back((range, now));
    }

    /// Adds a segment that was retransmitted without [`Retransmitted::push`], unless it is there.
    pub fn insert(&mut self, s: SentSegment) {
        let first = self.0.partition_point(|(_, at)| *at < s.xmit_ts);
        let past = first + self.0.range(first..).take_while(|(_, at)| *at == s.xmit_ts).count();
        if !self.0.range(first..past).any(|(range, _)| range.start == s.range.start) {
            self.0.insert(past, (s.range, s.xmit_ts));
        }
    }

    /// Removes the oldest ones that are acknowledged.
    pub fn forget_below(&mut self, snd_una: SeqNumber) {
        while self.0.front().is_some_and(|(range, _)| range.end <= snd_una) {
            self.0.pop_front();
        }
        if self.0.is_empty() && self.0.capacity() > SPARE {
            self.0.shrink_to(SPARE);
        }
    }

    /// Whether `s`, which entry `i` is of, was retransmitted again after it. Otherwise the time of a transmission that
    /// was longer ago than a scoreboard can tell has moved.
    #[cold]
    fn has_later(&self, i: usize, s: &SentSegment) -> bool {
        // Those from `i` on are in order, and those before it may be moved.
        let (mut from, mut to) = (i + 1, self.0.len());
        while from < to {
            let middle = from.midpoint(to);
            if self.0[middle].1 < s.xmit_ts { from = middle + 1 } else { to = middle }
        }
        let mut same = self.0.range(from..).take_while(|(_, at)| *at == s.xmit_ts);
        same.any(|(range, _)| range.start == s.range.start)
    }

    /// Calls `waits` on each that was sent before `latest`, and removes those for which it returns false, and
    /// those that are delivered, marked lost or retransmitted again.
    pub fn retain_waiting(
        &mut self,
        latest: Transmission,
        b: &dyn ScoreboardView,
        v: &SenderView,
        mut waits: impl FnMut(SentSegment) -> bool,
    ) {
        // Those sent at one moment need not be in ascending order.
        let overtaken = self.0.iter().take_while(|(_, at)| *at <= latest.xmit_ts).count();
        let mut kept = 0;
        for i in 0..overtaken {
            let (range, at) = self.0[i];
            let current = b
                .segment(range.start.max(v.snd_una))
                .filter(|s| !s.sacked && !s.lost && s.range.end <= v.snd_nxt)
                .filter(|s| s.xmit_ts == at || !self.has_later(i, s));
            if let Some(s) = current
                && (!latest.is_after(s.transmission()) || waits(s))
            {
                self.0[kept] = (range, s.xmit_ts);
                kept += 1;
            }
        }
        self.0.drain(kept..overtaken);
    }
}
