//! Pacing: when a sender with a pacing rate may send its next segment.

use ackclock_policy::Pacing;
use ackclock_units::{Duration, Instant, Rate};

/// A timer that fires late by no more than this costs no throughput: the pacer catches up. The value is a
/// choice: ten ticks of a millisecond clock, and what the rate bound of `ackclock probe` allows.
const MOST_LATE: Duration = Duration::from_millis(10);

/// Lets segments leave at a rate, a quantum at a time.
///
/// A quantum leaves back to back. The next one follows when the previous bytes have had their time at the
/// rate. After an idle period one quantum leaves at once, and no more: unused rate does not accumulate. If a
/// timer fires late, the pacer catches up by at most ten milliseconds.
///
/// As Linux does it ([`Pacer::with_credit`]), whatever made a quantum late shortens the time until the next one, by
/// up to half (`tcp_update_skb_after_send`).
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    rate: Rate,
    /// Bytes of a whole quantum.
    quantum: u32,
    /// Bytes of the current quantum that were not sent yet.
    left: u32,
    /// When the bytes sent so far have had their time at the rate.
    next_at: Instant,
    /// How far bytes may be sent before that time.
    ahead: Duration,
    /// When the timer for that last fired.
    fired_at: Option<Instant>,
    /// What is left of the lateness of this quantum, if late ones shorten the time until the next.
    credit: Option<Duration>,
    /// The next segment does not wait.
    exempt: bool,
}

impl Pacer {
    /// A pacer that lets the first quantum leave at once. `smss` is the minimum of the quantum in bytes, and
    /// of the rate in bytes per second.
    pub fn new(pacing: Pacing, smss: u32) -> Self {
        let (rate, quantum) = bounded(pacing, smss);
        Self {
            rate,
            quantum,
            left: 0,
            next_at: Instant::ZERO,
            ahead: Duration::ZERO,
            fired_at: None,
            credit: None,
            exempt: false,
        }
    }

    /// Lets a late departure shorten the time until the next one.
    #[must_use]
    pub fn with_credit(self) -> Self {
        Self { credit: Some(Duration::ZERO), ..self }
    }

    /// Makes it a limit on the rate instead of a pace: bursts may run `ahead` of it by that time.
    #[must_use]
    pub fn running_ahead(self, ahead: Duration) -> Self {
        Self { ahead, ..self }
    }

    /// Changes the rate of bytes that are sent from now on. What was sent keeps its time: the next departure
    /// was set when it left (draft-ietf-ccwg-bbr §5.6.2, and Linux).
    pub fn set(&mut self, pacing: Pacing, smss: u32) {
        (self.rate, self.quantum) = bounded(pacing, smss);
        self.left = self.left.min(self.quantum);
    }

    /// Bytes of a whole quantum.
    pub fn quantum(&self) -> u32 {
        self.quantum
    }

    /// The rate in force.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// When the next segment may be sent; `None` if at once.
    #[inline]
    pub fn held_until(&self, now: Instant) -> Option<Instant> {
        let due = self.next_at.saturating_sub(self.ahead);
        (self.left == 0 && due > now && !self.exempt).then_some(due)
    }

    /// Lets the next segment leave at once. It takes its time at the rate all the same: what follows it waits that
    /// much longer.
    pub fn exempt_next(&mut self) {
        self.exempt = true;
    }

    /// The timer for [`Pacer::held_until`] fired.
    pub fn fired(&mut self, now: Instant) {
        self.fired_at = Some(now);
    }

    /// When what was sent so far has had its time at the rate.
    pub fn due(&self) -> Instant {
        self.next_at
    }

    /// Lets the next quantum leave at `now` where it is held: the sender that is followed did not hold it.
    pub fn leave_now(&mut self, now: Instant) {
        if self.held_until(now).is_some() {
            self.next_at = now;
        }
    }

    /// A quantum of fewer bytes was sent: the next one is due when those had their time.
    pub fn end_quantum(&mut self) {
        self.left = 0;
    }

    /// `bytes` are sent.
    pub fn sent(&mut self, now: Instant, bytes: u32) {
        let held = self.left == 0 && self.next_at > now;
        if std::mem::take(&mut self.exempt) && held {
            self.next_at += self.rate.time_to_send(u64::from(bytes));
            return;
        }
        if self.left == 0 || self.next_at <= now {
            if let Some(credit) = &mut self.credit {
                *credit = now.since(self.next_at);
                self.next_at = self.next_at.max(now);
            } else {
                let late = if self.fired_at == Some(now) { MOST_LATE } else { Duration::ZERO };
                self.next_at = self.next_at.max(now.saturating_sub(late));
            }
            self.left = self.quantum;
        }
        self.left = self.left.saturating_sub(bytes);
        let mut time = self.rate.time_to_send(u64::from(bytes));
        if let Some(credit) = &mut self.credit {
            let less = (*credit).min(time / 2);
            *credit = *credit - less;
            time = time - less;
        }
        self.next_at += time;
    }
}

fn bounded(pacing: Pacing, smss: u32) -> (Rate, u32) {
    let least = Rate::from_bits_per_sec(8 * u64::from(smss.max(1)));
    (pacing.rate.max(least), pacing.quantum.max(smss))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u32 = 1000;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// 8 Mbit/s: a segment each millisecond.
    fn pacing(segments: u32) -> Pacing {
        Pacing { rate: Rate::from_bits_per_sec(8_000_000), quantum: segments * SMSS }
    }

    /// Sends all that may leave at `now`, up to `most` segments.
    fn burst(p: &mut Pacer, now: Instant, most: u32) -> u32 {
        let mut n = 0;
        while n < most && p.held_until(now).is_none() {
            p.sent(now, SMSS);
            n += 1;
        }
        n
    }

    #[test]
    fn segments_leave_at_the_rate() {
        let mut p = Pacer::new(pacing(1), SMSS);
        assert_eq!(burst(&mut p, at(5000), 9), 1);
        assert_eq!(p.held_until(at(5000)), Some(at(6000)));
        assert_eq!((burst(&mut p, at(5999), 9), burst(&mut p, at(6000), 9)), (0, 1));
    }

    #[test]
    fn a_quantum_leaves_back_to_back_and_the_next_at_the_rate() {
        let mut p = Pacer::new(pacing(3), SMSS);
        assert_eq!(burst(&mut p, at(0), 9), 3);
        assert_eq!(p.held_until(at(1000)), Some(at(3000)));
        assert_eq!(burst(&mut p, at(3000), 2), 2, "the window or the application may interrupt a quantum");
        assert_eq!(burst(&mut p, at(3500), 9), 1, "and the rest follows");
        assert_eq!(p.held_until(at(3500)), Some(at(6000)));
    }

    #[test]
    fn an_idle_sender_saves_no_rate() {
        let mut p = Pacer::new(pacing(2), SMSS);
        assert_eq!(burst(&mut p, at(0), 1), 1);
        assert_eq!(burst(&mut p, at(1_000_000), 9), 2, "one full quantum");
        assert_eq!(p.held_until(at(1_000_000)), Some(at(1_002_000)));
    }

    #[test]
    fn a_late_timer_costs_no_rate() {
        let mut p = Pacer::new(pacing(1), SMSS);
        burst(&mut p, at(0), 1);
        // Due at 1 ms, fires at 3.5 ms: three segments follow at once, and the fourth is due at 4 ms.
        p.fired(at(3500));
        assert_eq!(burst(&mut p, at(3500), 9), 3);
        assert_eq!(p.held_until(at(3500)), Some(at(4000)));
        // Beyond ten milliseconds it does not catch up.
        p.fired(at(104_000));
        assert_eq!(burst(&mut p, at(104_000), 99), 11);
    }

    #[test]
    fn a_late_departure_shortens_the_next_gap_by_up_to_half() {
        let mut p = Pacer::new(pacing(2), SMSS).with_credit();
        // The first one is as late as can be; the next one is in time.
        assert_eq!(burst(&mut p, at(50_000), 9), 2);
        assert_eq!(p.held_until(at(50_000)), Some(at(51_000)));
        assert_eq!(burst(&mut p, at(51_000), 9), 2);
        assert_eq!(p.held_until(at(51_000)), Some(at(53_000)));
        // 0.3 ms late, of which all is made up for.
        assert_eq!(burst(&mut p, at(53_300), 9), 2);
        assert_eq!(p.held_until(at(53_300)), Some(at(55_000)));
    }

    #[test]
    fn an_exempt_segment_leaves_at_once_and_delays_the_next_ones() {
        for mut p in [Pacer::new(pacing(2), SMSS), Pacer::new(pacing(2), SMSS).with_credit()] {
            burst(&mut p, at(50_000), 9);
            let due = p.held_until(at(50_000)).expect("a quantum has left");
            p.exempt_next();
            assert_eq!(burst(&mut p, at(50_500), 9), 1);
            assert_eq!(p.held_until(at(50_500)), Some(due + Duration::from_millis(1)));
            // Where none is held, it is a segment like others.
            let free = due + Duration::from_millis(1);
            p.exempt_next();
            assert_eq!(burst(&mut p, free, 9), 2);
            assert_eq!(p.held_until(free), Some(free + Duration::from_millis(2)));
        }
    }

    #[test]
    fn a_bound_lets_bursts_run_ahead_and_no_more() {
        let mut p = Pacer::new(pacing(1), SMSS).running_ahead(Duration::from_millis(3));
        assert_eq!(burst(&mut p, at(0), 9), 4);
        assert_eq!(p.held_until(at(0)), Some(at(1000)));
        assert_eq!((burst(&mut p, at(1000), 9), burst(&mut p, at(1500), 9)), (1, 0));
    }

    #[test]
    fn a_change_of_rate_applies_to_bytes_sent_from_then_on() {
        let mut p = Pacer::new(pacing(4), SMSS);
        burst(&mut p, at(0), 4);
        p.set(Pacing { rate: Rate::from_bits_per_sec(16_000_000), ..pacing(4) }, SMSS);
        assert_eq!(p.held_until(at(2000)), Some(at(4000)));
        assert_eq!(burst(&mut p, at(4000), 9), 4);
        assert_eq!(p.held_until(at(4000)), Some(at(6000)));
    }

    #[test]
    fn a_rate_of_zero_lets_a_segment_leave_each_second() {
        let mut p = Pacer::new(Pacing { rate: Rate::default(), quantum: 0 }, SMSS);
        assert_eq!(burst(&mut p, at(0), 9), 1);
        assert_eq!(p.held_until(at(0)), Some(at(1_000_000)));
    }
}
