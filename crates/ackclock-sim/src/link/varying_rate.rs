//! A link whose rate varies over time.

use ackclock_units::{Duration, Instant, Rate};

use super::track::{Position, Track};
use super::transmitter::{NEVER, Transmitter};

/// A rate in bit/s over time. While it is 0 nothing is transmitted, and what was begun goes on afterwards.
pub struct VaryingRate {
    track: Track,
    /// What is sent from the beginning of the period to that of each segment. The unit is what a rate of
    /// 1 bit/s sends in a nanosecond.
    before: Box<[u128]>,
    /// The same for a whole period.
    period: u128,
}

impl VaryingRate {
    /// The rate of `track`, bit/s.
    pub fn new(track: Track) -> Self {
        let mut sum = 0;
        let before = (0..track.segments())
            .map(|n| {
                let before = sum;
                sum += track.length(n).map_or(0, |length| area(track.ends(n), length));
                before
            })
            .collect();
        Self { track, before, period: sum }
    }

    /// The mean rate from the beginning until `span`, which is at least 1 bit/s.
    pub(super) fn mean(&self, span: Duration) -> Rate {
        let Position { round, segment, since } = self.track.position(span.as_nanos());
        let (first, last) = self.track.ends(segment);
        let here = match self.track.length(segment) {
            Some(length) => {
                let change =
                    (i128::from(last) - i128::from(first)) * i128::from(since) / i128::from(length.max(1));
                area((first, (i128::from(first) + change) as u64), since)
            }
            None => u128::from(first) * u128::from(since),
        };
        let sent = u128::from(round) * self.period + self.before[segment] + here;
        let mean = match u128::from(span.as_nanos()) {
            0 => u128::from(first),
            span => sent / span,
        };
        Rate::from_bits_per_sec(u64::try_from(mean).unwrap_or(u64::MAX).max(1))
    }

    /// When `sent` is reached in a segment, from `since` after its beginning on; both are in range.
    fn within(&self, segment: usize, since: u64, sent: u128) -> u64 {
        let (first, last) = self.track.ends(segment);
        let length = self.track.length(segment).unwrap_or(u64::MAX);
        let time = if first == last {
            let rate = u128::from(first).max(1);
            u64::try_from((sent + rate / 2) / rate).unwrap_or(u64::MAX)
        } else {
            // The root of `rate * t + slope * t^2 / 2 = sent`, in the form that loses no digits.
            let slope = (last as f64 - first as f64) / length as f64;
            let rate = first as f64 + slope * since as f64;
            let sent = sent as f64;
            let sum = rate + (rate * rate + 2.0 * slope * sent).max(0.0).sqrt();
            if sum > 0.0 { (2.0 * sent / sum).round() as u64 } else { length }
        };
        since.saturating_add(time).min(length)
    }

    /// What is sent from a position to the end of its segment; `None` if the segment has no end.
    fn rest(&self, p: Position) -> Option<u128> {
        let length = self.track.length(p.segment)?;
        let (first, last) = self.track.ends(p.segment);
        let change = (i128::from(last) - i128::from(first)) * i128::from(p.since) / i128::from(length.max(1));
        Some(area(((i128::from(first) + change) as u64, last), length - p.since))
    }
}

/// What is sent in `length` nanoseconds while the rate changes linearly from one value to another.
fn area((first, last): (u64, u64), length: u64) -> u128 {
    (u128::from(first) + u128::from(last)) * u128::from(length) / 2
}

impl Transmitter for VaryingRate {
    fn finish(&mut self, bytes: u32, start: Instant, _: bool) -> Instant {
        let wanted = u128::from(bytes) * 8_000_000_000;
        let from = self.track.position(start.as_nanos());
        let (mut round, mut segment, mut since) = (u128::from(from.round), from.segment, from.since);
        let mut wanted_here = wanted;
        if let Some(rest) = self.rest(from).filter(|rest| *rest < wanted) {
            // Counted from the beginning of a period.
            let mut total = wanted - rest;
            match self.before.get(segment + 1) {
                Some(before) => total += before,
                None => round += 1,
            }
            if self.track.period().is_some() && total > self.period {
                if self.period == 0 {
                    return NEVER;
                }
                let whole = (total - 1) / self.period;
                (round, total) = (round + whole, total - whole * self.period);
            }
            segment = self.before.partition_point(|before| *before < total) - 1;
            (since, wanted_here) = (0, total - self.before[segment]);
        }
        if self.track.length(segment).is_none() && self.track.ends(segment).0 == 0 && wanted_here > 0 {
            return NEVER;
        }
        let here = self.within(segment, since, wanted_here);
        let begins = round * u128::from(self.track.period().unwrap_or(0));
        let at = begins + u128::from(self.track.begins(segment)) + u128::from(here);
        u64::try_from(at).map_or(NEVER, |at| Instant::from_nanos(at).min(NEVER))
    }
}
