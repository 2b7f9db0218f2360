//! The delays of the path: without a queue, and now.

use ackclock_units::{Duration, Instant};

/// Base delay and current delay from round-trip times, µs (RFC 6817 §2.4.2, §3.4.2, with round trips for
/// one-way delays).
#[derive(Debug)]
pub(super) struct Delays {
    /// Smallest of each of the last minutes, the present one first (BASE_HISTORY); `NONE` without one.
    minutes: [u32; 10],
    minute_start: Instant,
    /// The last samples (CURRENT_FILTER).
    latest: [u32; 4],
    next: u8,
}

const NONE: u32 = u32::MAX;
const MINUTE: Duration = Duration::from_secs(60);

impl Delays {
    pub const NEW: Self =
        Self { minutes: [NONE; 10], minute_start: Instant::ZERO, latest: [NONE; 4], next: 0 };

    pub fn sample(&mut self, rtt: Duration, now: Instant) {
        let rtt = u32::try_from(rtt.as_nanos() / 1000).unwrap_or(NONE - 1).max(1);
        if self.base().is_none() {
            self.minute_start = now;
        } else if now.since(self.minute_start) > MINUTE {
            self.minutes.rotate_right(1);
            (self.minutes[0], self.minute_start) = (NONE, now);
        }
        self.minutes[0] = self.minutes[0].min(rtt);
        self.latest[usize::from(self.next)] = rtt;
        self.next = (self.next + 1) % 4;
    }

    fn base_micros(&self) -> u32 {
        self.minutes.iter().copied().min().unwrap_or(NONE)
    }

    /// The path without a queue; `None` before the first sample.
    pub fn base(&self) -> Option<Duration> {
        Some(self.base_micros()).filter(|us| *us != NONE).map(|us| Duration::from_micros(us.into()))
    }

    /// The queue now.
    pub fn queueing(&self) -> Duration {
        let current = self.latest.iter().copied().min().unwrap_or(NONE);
        if current == NONE {
            return Duration::ZERO;
        }
        Duration::from_micros(current.saturating_sub(self.base_micros()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn the_smallest_of_four_samples_counts_above_the_smallest_of_all() {
        let mut d = Delays::NEW;
        assert_eq!((d.base(), d.queueing()), (None, Duration::ZERO));
        for (rtt, queueing) in
            [(50, 0), (40, 0), (90, 0), (80, 0), (70, 0), (95, 30), (99, 30), (99, 30), (99, 55)]
        {
            d.sample(ms(rtt), Instant::ZERO);
            assert_eq!(d.queueing(), ms(queueing), "{rtt}");
        }
        assert_eq!(d.base(), Some(ms(40)));
    }

    #[test]
    fn ten_minutes_are_remembered() {
        let mut d = Delays::NEW;
        d.sample(ms(40), Instant::ZERO);
        for minute in 1..=9 {
            d.sample(ms(100 + minute), Instant::ZERO + Duration::from_secs(61 * minute));
            assert_eq!(d.base(), Some(ms(40)), "{minute}");
        }
        d.sample(ms(200), Instant::ZERO + Duration::from_secs(610));
        assert_eq!(d.base(), Some(ms(101)));
    }
}
