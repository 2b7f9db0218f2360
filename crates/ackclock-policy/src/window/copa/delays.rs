//! Delays over the times that Copa looks back.

use ackclock_units::{Duration, Instant};

/// Round-trip times, µs: the smallest of the last ten seconds, the smallest of a short time, and the largest
/// of the last four round trips.
#[derive(Debug)]
pub(super) struct Delays {
    /// Smallest of each of ten seconds, the present one first; `NONE` without one.
    seconds: [u32; 10],
    second_start: Instant,
    recent: Recent,
    /// Largest of each of four round trips, the present one first.
    largest: [u32; 4],
}

const NONE: u32 = u32::MAX;
const SECOND: Duration = Duration::from_secs(1);

impl Delays {
    pub const NEW: Self =
        Self { seconds: [NONE; 10], second_start: Instant::ZERO, recent: Recent::NEW, largest: [0; 4] };

    /// A sample; the standing round-trip time is the smallest of the last half of `srtt`.
    pub fn sample(&mut self, rtt: Duration, srtt: Duration, now: Instant) {
        let rtt = u32::try_from(rtt.as_nanos() / 1000).unwrap_or(NONE - 1).max(1);
        if self.seconds[0] == NONE && self.smallest() == NONE {
            self.second_start = now;
        }
        let passed = now.since(self.second_start).as_nanos() / SECOND.as_nanos();
        if passed > 0 {
            let n = usize::try_from(passed).unwrap_or(10).min(10);
            self.seconds.rotate_right(n);
            self.seconds[..n].fill(NONE);
            self.second_start += SECOND * passed;
        }
        self.seconds[0] = self.seconds[0].min(rtt);
        self.recent.sample(rtt, srtt / 2, now);
        self.largest[0] = self.largest[0].max(rtt);
    }

    /// A round trip is over.
    pub fn next_round(&mut self) {
        self.largest.rotate_right(1);
        self.largest[0] = 0;
    }

    fn smallest(&self) -> u32 {
        self.seconds.iter().copied().min().unwrap_or(NONE)
    }

    /// RTTstanding; `None` before the first sample.
    pub fn standing(&self) -> Option<Duration> {
        self.recent.smallest().map(|us| Duration::from_micros(us.into()))
    }

    /// d_q = RTTstanding - RTTmin.
    pub fn queueing(&self) -> Duration {
        let standing = self.recent.smallest().unwrap_or(0);
        Duration::from_micros(standing.saturating_sub(self.smallest()).into())
    }

    /// True when the queue is nearly empty: its delay is less than a tenth of how much the delay has varied
    /// in the last four round trips (§2.2); or less than `quantum`, the time that one ack's data takes at the
    /// flow's rate, if that is below a third. A queue of 2.5 / delta packets, 5 by default, falls to nothing
    /// only as nearly as data comes in whole packets, of which a tenth is a half.
    pub fn is_nearly_empty(&self, quantum: Duration) -> bool {
        let largest = self.largest.iter().copied().max().unwrap_or(0);
        let varied = u64::from(largest.saturating_sub(self.smallest()));
        let quantum = (quantum.as_nanos() / 1000).min(varied / 3);
        self.queueing().as_nanos() / 1000 <= quantum.max(varied / 10)
    }
}

/// The smallest of each eighth of a short time, the present one first; `NONE` without one.
#[derive(Debug)]
struct Recent {
    eighths: [u32; 9],
    start: Instant,
}

impl Recent {
    const NEW: Self = Self { eighths: [NONE; 9], start: Instant::ZERO };

    fn sample(&mut self, us: u32, window: Duration, now: Instant) {
        let width = (window.as_nanos() / 8).max(1);
        let passed = now.since(self.start).as_nanos() / width;
        if passed > 0 {
            let n = usize::try_from(passed).unwrap_or(9).min(9);
            self.eighths.rotate_right(n);
            self.eighths[..n].fill(NONE);
            self.start += Duration::from_nanos(width.saturating_mul(passed));
        }
        self.eighths[0] = self.eighths[0].min(us);
    }

    fn smallest(&self) -> Option<u32> {
        self.eighths.iter().copied().min().filter(|us| *us != NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn at(n: u64) -> Instant {
        Instant::ZERO + ms(n)
    }

    #[test]
    fn the_standing_rtt_is_the_smallest_of_half_a_round_trip() {
        let mut d = Delays::NEW;
        for t in 0..50 {
            d.sample(ms(if t == 20 { 50 } else { 80 }), ms(100), at(t));
        }
        assert_eq!(d.standing(), Some(ms(50)));
        for t in 50..=77 {
            d.sample(ms(80), ms(100), at(t));
        }
        assert_eq!((d.standing(), d.queueing()), (Some(ms(80)), ms(30)));
        // Rising delays: the smallest of 50 ms, or of an eighth more.
        let mut d = Delays::NEW;
        for t in 0..500 {
            d.sample(ms(100 + t), ms(100), at(t));
            let got = d.standing().expect("sampled").as_nanos() / 1_000_000;
            assert!((100 + t.saturating_sub(57)..=100 + t.saturating_sub(49)).contains(&got), "{t}: {got}");
        }
    }

    #[test]
    fn ten_seconds_are_remembered() {
        let mut d = Delays::NEW;
        d.sample(ms(40), ms(100), at(0));
        d.sample(ms(100), ms(100), at(9000));
        assert_eq!(d.queueing(), ms(60));
        d.sample(ms(100), ms(100), at(10_000));
        assert_eq!(d.queueing(), ms(0));
    }

    #[test]
    fn nearly_empty_is_a_tenth_of_the_variation() {
        for (standing, empty) in [(50, true), (55, true), (56, false)] {
            let mut d = Delays::NEW;
            d.sample(ms(50), ms(10), at(0));
            d.sample(ms(100), ms(10), at(50));
            d.next_round();
            d.sample(ms(standing), ms(10), at(100));
            assert_eq!(d.is_nearly_empty(Duration::ZERO), empty, "{standing}");
        }
        // Or one ack's data, and a third: that of 60 ms is 20.
        for (standing, quantum, empty) in
            [(62, 12, true), (63, 12, false), (69, 30, true), (70, 20, true), (71, 30, false), (56, 2, true)]
        {
            let mut d = Delays::NEW;
            d.sample(ms(50), ms(10), at(0));
            d.sample(ms(110), ms(10), at(50));
            d.next_round();
            d.sample(ms(standing), ms(10), at(100));
            assert_eq!(d.is_nearly_empty(ms(quantum)), empty, "{standing} {quantum}");
        }
        // The largest is forgotten after four round trips.
        let mut d = Delays::NEW;
        d.sample(ms(50), ms(10), at(0));
        d.sample(ms(100), ms(10), at(50));
        for t in 1..=4 {
            d.next_round();
            d.sample(ms(55), ms(10), at(50 + 10 * t));
            assert_eq!(d.is_nearly_empty(Duration::ZERO), t < 4, "{t}");
        }
    }
}
