//! A link that sends only at given moments, as Mahimahi's `mm-link`.

use std::sync::Arc;

use ackclock_policy::{Declaration, Param};
use ackclock_units::{Duration, Instant};

use super::transmitter::{NEVER, Transmitter};

/// Moments at which a link can deliver up to a number of bytes each.
///
/// As in Mahimahi, the bytes of an opportunity serve several small packets or a part of a large one, and what
/// nobody waits for at its moment is lost. A packet arriving at that very moment is too late for it. A packet
/// stays in its queue until the first opportunity that serves it.
pub struct Opportunities {
    /// In order, milliseconds; the last is the length of the trace.
    times: Arc<[u32]>,
    /// Bytes of each opportunity.
    size: u32,
    /// Bytes that each packet takes besides its own.
    overhead: u32,
    repeat: bool,
    /// Number of the next opportunity that is not used up, counted over all rounds.
    next: u64,
    /// Bytes that the one before it has left.
    left: u64,
}

const MS: u64 = 1_000_000;

impl Opportunities {
    /// Opportunities of `size` bytes at `times`, milliseconds in order. With `repeat`, each round begins at
    /// the last moment of the one before.
    ///
    /// # Errors
    /// One sentence, for a trace that Mahimahi refuses too: empty, not in order, or without a length.
    pub fn new(times: Arc<[u32]>, size: u32, overhead: u32, repeat: bool) -> Result<Self, String> {
        if let Some(n) = times.windows(2).position(|pair| pair[1] < pair[0]) {
            // The values may come from a file that whoever reads the error must not see.
            return Err(format!(
                "opportunity {} is earlier than the one before it: give them in order of time",
                n + 2
            ));
        }
        if times.last().is_none_or(|t| *t == 0) {
            return Err("the last opportunity is at 0 ms or missing: a trace must last at least 1 ms".into());
        }
        Ok(Self { times, size: size.max(1), overhead, repeat, next: 0, left: 0 })
    }

    fn length(&self) -> u64 {
        u64::from(self.times.last().copied().unwrap_or(1).max(1)) * MS
    }

    /// Number of opportunities up to `at`.
    fn passed(&self, at: Instant) -> u64 {
        let (at, length, n) = (at.as_nanos(), self.length(), self.times.len() as u64);
        let round = if self.repeat { at / length } else { 0 };
        let within = at - round * length;
        (round * n).saturating_add(self.times.partition_point(|t| u64::from(*t) * MS <= within) as u64)
    }

    /// Nobody waited until `at`: what was there until then is lost.
    fn skip(&mut self, at: Instant) {
        let passed = self.passed(at);
        self.left = 0;
        self.next = self.next.max(passed);
    }

    /// When opportunity number `k` is; `None` after the end.
    fn moment(&self, k: u64) -> Option<Instant> {
        let n = self.times.len() as u64;
        let (round, within) = (k / n, self.times[(k % n) as usize]);
        if round > 0 && !self.repeat {
            return None;
        }
        let at = u128::from(round) * u128::from(self.length()) + u128::from(within) * u128::from(MS);
        u64::try_from(at).ok().map(Instant::from_nanos)
    }

    /// The mean rate, in bytes per second of packets that take `overhead` more each and fill an opportunity.
    pub fn mean_rate(times: &[u32], size: u32, overhead: u32) -> f64 {
        let length = Duration::from_millis(times.last().copied().unwrap_or(0).into()).as_secs_f64();
        let per_opportunity = f64::from(size.saturating_sub(overhead).max(1));
        if length > 0.0 { times.len() as f64 * per_opportunity / length } else { 0.0 }
    }
}

impl Transmitter for Opportunities {
    fn has_moments(&self) -> bool {
        true
    }

    fn begins(&mut self, start: Instant, idle: bool) -> Instant {
        if idle {
            self.skip(start);
        }
        if self.left > 0 { start } else { self.moment(self.next).map_or(NEVER, |at| at.clamp(start, NEVER)) }
    }

    fn finish(&mut self, bytes: u32, start: Instant, idle: bool) -> Instant {
        if start >= NEVER {
            return NEVER;
        }
        if idle {
            self.skip(start);
        }
        let needed = u64::from(bytes) + u64::from(self.overhead);
        if needed <= self.left {
            self.left -= needed;
            return start;
        }
        let more = needed - self.left;
        let count = more.div_ceil(self.size.into());
        let last = self.next.saturating_add(count - 1);
        (self.next, self.left) = (last.saturating_add(1), count * u64::from(self.size) - more);
        self.moment(last).map_or(NEVER, |at| at.min(NEVER))
    }
}

/// Keys of a packet-delivery trace.
pub(crate) const MAHIMAHI: Declaration = Declaration {
    kind: "element",
    name: "mahimahi",
    about: "A packet-delivery trace of Mahimahi in place of a rate: a `file` with a number of milliseconds \
            on each line, in order, at each of which up to `size` bytes leave; or `times`, the numbers \
            themselves. Several small packets share an opportunity, a large one takes several; what nobody \
            waits for is lost.",
    source: "mm-link(1) and src/frontend/link_queue.cc of Mahimahi (Netravali et al. 2015)",
    params: &[
        Param::bytes(
            "size",
            1504,
            1..=1 << 20,
            "bytes of an opportunity; Mahimahi's 1504 are a packet of 1500 and the 4 of `overhead`",
        ),
        Param::bytes(
            "overhead",
            4,
            0..=1_000,
            "bytes counted for each packet besides its own; Mahimahi counts the 4 that its device adds",
        ),
        Param::flag(
            "repeat",
            true,
            "whether the trace begins again at its last moment; otherwise the link is dead from then on",
        ),
    ],
};
