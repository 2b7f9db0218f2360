//! CUBIC in the integers of Linux (`tcp_cubic.c`): whole segments, ticks of its clock, and a window that grows by
//! one segment after so many acknowledged.

use ackclock_units::{Bytes, Duration, Instant};

use crate::{AckInfo, Param};

/// Bits of its fractions: of C, of beta, and of a second.
const BITS: u32 = 10;
/// The curve is not read again within this part of a second while the window stays.
const REFRESH: u64 = 32;
/// Segments acknowledged for one of growth, at most, until there was a loss.
const EXPLORE: u64 = 20;
/// At least: half again as much in a round trip.
const LEAST: u64 = 2;
/// Where the curve is below the window.
const FLAT: u64 = 100;

/// Its constants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scales {
    /// C and beta_cubic, in 1024ths.
    c: u64,
    pub beta: u64,
    /// Acks of so many eighths of the window grow Reno's window by a segment; 0 without that window.
    reno: u64,
    /// Ticks of its clock in a second.
    hz: u64,
}

impl Scales {
    pub fn new(c: f64, beta_cubic: f64, reno_friendly: bool, tick: Duration) -> Self {
        let one = 1_u64 << BITS;
        let scaled = |x: f64| (x * one as f64).round() as u64;
        let (c, beta) = (scaled(c).max(1), scaled(beta_cubic).min(one - 1));
        let reno = if reno_friendly { 8 * (one + beta) / 3 / (one - beta) } else { 0 };
        Self { c, beta, reno, hz: (1_000_000_000 / tick.as_nanos().max(1)).max(1) }
    }

    fn ticks(&self, now: Instant) -> u64 {
        let ticks = u128::from(now.as_nanos()) * u128::from(self.hz) / 1_000_000_000;
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// In ticks, which began.
    fn ticks_of(&self, time: Duration) -> u64 {
        let ticks = (u128::from(time.as_nanos()) * u128::from(self.hz)).div_ceil(1_000_000_000);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// Time from the beginning to the plateau, in 1024ths of a second.
    fn plateau_after(&self, segs: u64) -> u64 {
        libm::cbrt((segs as f64) * (1_u64 << (4 * BITS)) as f64 / self.c as f64) as u64
    }
}

/// A congestion-avoidance stage. Sizes in segments, times in ticks.
#[derive(Debug, Default)]
pub(super) struct Stage {
    /// When it began; `None` until its first ack.
    start: Option<u64>,
    /// The smallest round-trip time of data since the last timeout (`delay_min`).
    min_rtt: Option<Duration>,
    /// When data was sent last.
    sent_at: Option<Instant>,
    origin: u64,
    k: u64,
    /// Acknowledged, and not yet counted for Reno's window.
    acked: u64,
    reno: u64,
    /// The window grows by a segment after so many acknowledged.
    cnt: u64,
    /// The window and the time when the curve was read last.
    read: (u64, u64),
    /// Acknowledged, and not yet counted for growth.
    credit: u64,
    /// Bytes delivered of a segment of which the rest was not.
    part: Bytes,
    /// Window before the last reduction, lowered by fast convergence; 0 before the first one and after a
    /// timeout.
    pub last_max: u64,
}

impl Stage {
    /// The timer has expired (`bictcp_reset`).
    pub fn forget(&mut self) {
        *self = Self { sent_at: self.sent_at, part: self.part, ..Self::default() };
    }

    /// Takes the round-trip time of an ack, unless it comes within a second from the beginning of the stage
    /// (`cubictcp_acked`).
    pub fn measure(&mut self, a: &AckInfo, scales: &Scales, now: Instant) {
        let Some(rtt) = a.rtt else { return };
        if self.start.is_some_and(|start| scales.ticks(now).saturating_sub(start) < scales.hz) {
            return;
        }
        // Of the segment sent last that it acknowledges.
        let last = a.deliveries.and_then(|d| d.sent_once).map_or(rtt, |t| now.since(t.xmit_ts).min(rtt));
        self.min_rtt = Some(self.min_rtt.map_or(last, |min| min.min(last)));
    }

    /// New data was sent, with nothing else in the network where it is `alone`: then the time since data was sent
    /// before does not count (`cubictcp_cwnd_event`).
    pub fn sent(&mut self, alone: bool, scales: &Scales, now: Instant) {
        let idle = self.sent_at.replace(now).map_or(Duration::ZERO, |at| now.since(at));
        if alone {
            let (skipped, now) =
                (scales.ticks(now) - scales.ticks(now.saturating_sub(idle)), scales.ticks(now));
            self.start = self.start.map(|start| start.saturating_add(skipped).min(now));
        }
    }

    /// A reduction ends the stage.
    pub fn end(&mut self) {
        self.start = None;
    }

    /// What was acknowledged so far counts no more for growth.
    pub fn forget_credit(&mut self) {
        self.credit = 0;
    }

    /// The whole segments that an ack completes which newly delivers so many bytes, by SACK or cumulatively: an
    /// ack of a part of one counts for nothing, nor does what was SACKed before.
    pub fn whole(&mut self, delivered: Bytes, smss: Bytes) -> u64 {
        self.part = self.part.saturating_add(delivered);
        let segs = self.part / smss.max(1);
        self.part %= smss.max(1);
        segs
    }

    /// How many segments a window of `cwnd` grows by on an ack of `acked` segments.
    pub fn grow(&mut self, acked: u64, cwnd: u64, scales: &Scales, now: Instant) -> u64 {
        self.read_curve(acked, cwnd, scales, scales.ticks(now));
        // tcp_cong_avoid_ai
        let mut grown = 0;
        if self.credit >= self.cnt {
            (self.credit, grown) = (0, 1);
        }
        self.credit += acked;
        grown += self.credit / self.cnt;
        self.credit %= self.cnt;
        grown
    }

    fn read_curve(&mut self, acked: u64, cwnd: u64, scales: &Scales, now: u64) {
        self.acked = self.acked.saturating_add(acked);
        let begins = self.start.is_none();
        if !begins && self.read.0 == cwnd && now.saturating_sub(self.read.1) <= scales.hz / REFRESH {
            return;
        }
        if begins || now != self.read.1 {
            self.read = (cwnd, now);
            if begins {
                (self.start, self.acked, self.reno) = (Some(now), acked, cwnd);
                let below = self.last_max.saturating_sub(cwnd);
                (self.k, self.origin) = (scales.plateau_after(below), self.last_max.max(cwnd));
            }
            let elapsed = now.saturating_sub(self.start.unwrap_or(now));
            let ahead = self.min_rtt.map_or(0, |rtt| scales.ticks_of(rtt));
            let t = elapsed.saturating_add(ahead).saturating_mul(1 << BITS) / scales.hz;
            let target = curve(t, self.k, self.origin, scales);
            self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { FLAT.saturating_mul(cwnd) };
            if self.last_max == 0 {
                self.cnt = self.cnt.min(EXPLORE);
            }
        }
        self.follow_reno(cwnd, scales);
        self.cnt = self.cnt.max(LEAST);
    }

    /// At least as fast as Reno's window.
    fn follow_reno(&mut self, cwnd: u64, scales: &Scales) {
        let each = cwnd.saturating_mul(scales.reno) >> 3;
        if each == 0 {
            return;
        }
        // It counts what is in excess of a window's worth.
        let grown = self.acked.saturating_sub(1) / each;
        self.acked -= grown * each;
        self.reno = self.reno.saturating_add(grown);
        if self.reno > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.reno - cwnd));
        }
    }
}

/// C (t - K)^3 + origin, with times in 1024ths of a second.
fn curve(t: u64, k: u64, origin: u64, scales: &Scales) -> u64 {
    // Longer than a year; its cube fits.
    let from_plateau = u128::from(t.abs_diff(k).min(1 << 36));
    let delta = (u128::from(scales.c) * from_plateau * from_plateau * from_plateau) >> (4 * BITS);
    let delta = u64::try_from(delta).unwrap_or(u64::MAX);
    if t < k { origin.saturating_sub(delta) } else { origin.saturating_add(delta) }
}

/// The step of its clock.
pub(super) const TICK: Param = Param::duration(
    "tick",
    Duration::from_millis(4),
    Duration::from_millis(1)..=Duration::from_millis(10),
    "with `arithmetic=linux`: step of the clock by which the curve is read (a kernel's CONFIG_HZ, here 250)",
);

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(1);
    const RTT: Duration = Duration::from_millis(100);

    fn scales() -> Scales {
        Scales::new(0.4, 0.7, true, TICK)
    }

    /// The window after `seconds` in which it was always full, by round trips of 100 ms; acks of two segments.
    fn after(last_max: u64, mut cwnd: u64, seconds: u64, reno: bool) -> u64 {
        let (mut stage, scales) =
            (Stage { last_max, min_rtt: Some(RTT), ..Stage::default() }, Scales::new(0.4, 0.7, reno, TICK));
        let mut now = Instant::ZERO + Duration::from_secs(7);
        for _ in 0..seconds * 10 {
            let acks = cwnd / 2;
            for _ in 0..acks {
                now += Duration::from_nanos(100_000_000 / acks);
                cwnd += stage.grow(2, cwnd, &scales, now);
            }
        }
        cwnd
    }

    #[test]
    fn the_constants_are_those_of_linux() {
        let s = scales();
        // bic_scale 41 times 10, beta 717, beta_scale 15.
        assert_eq!((s.c, s.beta, s.reno), (410, 717, 15));
        // K for a window of 1000 after a loss: cbrt(300 * 2^40 / 410) = 9300.6 in 1024ths, where RFC 9438 eq. 2
        // has 9.0856 s, which are 9303.6.
        assert_eq!(s.plateau_after(300), 9300);
    }

    #[test]
    fn the_curve_is_that_of_the_standard_to_a_segment() {
        // RFC 9438 eq. 1 with C = 0.4 after a loss at 1000 segments: at 5, 9.1, 12 and 15 s.
        for (ms, want) in [(5000_u64, 972.722), (9100, 1000.0), (12_000, 1009.902), (15_000, 1082.735)] {
            let s = scales();
            let got = curve(ms * 1024 / 1000, s.plateau_after(300), 1000, &s) as f64;
            assert!((got - want).abs() < 1.5, "{ms}: {got}");
        }
    }

    #[test]
    fn a_window_follows_the_curve_a_round_trip_ahead() {
        // W(t + 0.1) of eq. 1, reached within a round trip: 700 to 974.3 in 5 s, to 1088.6 in 15 s.
        for (seconds, want) in [(5, 974.3_f64), (12, 1010.6), (15, 1085.6)] {
            let got = after(1000, 700, seconds, false) as f64;
            assert!((got - want).abs() < 6.0, "{seconds} s: {got} is not {want}");
        }
    }

    #[test]
    fn without_a_maximum_it_grows_by_a_twentieth_in_a_round_trip() {
        let got = after(0, 100, 1, false);
        // 1.05^10 * 100 = 163, or the curve's 0.4 t^3, which is less.
        assert!((155..=170).contains(&got), "{got}");
    }

    #[test]
    fn on_a_short_path_it_is_as_fast_as_renos_window() {
        // From 14 after a loss at 20: one segment for 15/8 of a window, 0.533 in a round trip, for ever. RFC
        // 9438 §4.3 has alpha = 1 from W_est = 20 on, so that the standard is ahead after eleven round trips.
        let got = after(20, 14, 3, true) as f64;
        assert!((got - (14.0 + 30.0 * 0.533)).abs() < 4.0, "{got}");
    }

    #[test]
    fn acks_of_parts_count_once_they_make_a_segment() {
        let mut stage = Stage::default();
        let counted: Vec<u64> = (0..20).map(|_| stage.whole(100, 1000)).collect();
        assert_eq!(counted.iter().sum::<u64>(), 2);
        assert_eq!((counted[9], counted[19], stage.whole(2500, 1000)), (1, 1, 2));
    }

    #[test]
    fn extremes_do_not_overflow() {
        for (c, beta) in [(0.001, 0.1), (100.0, 1.0)] {
            let scales = Scales::new(c, beta, true, TICK);
            for (cwnd, last_max) in [(1, 0), (1, u64::MAX), (u64::MAX / 2, u64::MAX), (1 << 40, 1 << 30)] {
                let mut stage = Stage { last_max, min_rtt: Some(RTT), ..Stage::default() };
                for seconds in [0, 1, 1_000_000, u64::MAX / 1_000_000_000] {
                    let now = Instant::ZERO + Duration::from_secs(seconds);
                    assert!(stage.grow(2, cwnd, &scales, now) <= 2);
                }
            }
        }
    }
}
