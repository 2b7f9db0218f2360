//! Pacing: when the next segment may leave, for every sender that has a rate.

use ackclock_policy::Pacing;
use ackclock_units::{Duration, Instant, Rate};

/// A timer that fires late by no more than this costs no rate: what it missed is made up for. Chosen: ten
/// ticks of a clock of a millisecond, and what the bound of the probe allows.
const MOST_LATE: Duration = Duration::from_millis(10);

/// Lets segments leave at a rate, a quantum at a time.
///
/// A quantum leaves back to back; the next one follows when the rate has paid for the bytes of the last. After
/// idling, one quantum leaves at once and no more: a rate that was not used is lost. What a late timer missed
/// is made up for, up to ten milliseconds of it.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    rate: Rate,
    /// Bytes of a whole quantum.
    quantum: u32,
    /// Bytes of the present one that have not left.
    left: u32,
    /// When what has left will have been paid for.
    paid_at: Instant,
    /// By how much what leaves may run ahead of that.
    ahead: Duration,
    /// When the timer that waited for that last fired.
    fired_at: Option<Instant>,
}

impl Pacer {
    /// A pacer that lets the first quantum leave at once. `smss`: the least that makes a quantum, and what
    /// the rate lets leave each second at least, bytes.
    pub fn new(pacing: Pacing, smss: u32) -> Self {
        let (rate, quantum) = bounded(pacing, smss);
        Self { rate, quantum, left: 0, paid_at: Instant::ZERO, ahead: Duration::ZERO, fired_at: None }
    }

    /// The same for a bound on a rate rather than a pace: bursts may run ahead of it by so much time.
    #[must_use]
    pub fn running_ahead(self, ahead: Duration) -> Self {
        Self { ahead, ..self }
    }

    /// Goes on at another rate: what has left and is not paid for is paid at the new one.
    pub fn set(&mut self, now: Instant, pacing: Pacing, smss: u32) {
        let (rate, quantum) = bounded(pacing, smss);
        if rate != self.rate && self.paid_at > now {
            let owed = u128::from(self.paid_at.since(now).as_nanos()) * u128::from(self.rate.bits_per_sec())
                / u128::from(rate.bits_per_sec());
            self.paid_at = now + Duration::from_nanos(u64::try_from(owed).unwrap_or(u64::MAX));
        }
        (self.rate, self.quantum) = (rate, quantum);
        self.left = self.left.min(quantum);
    }

    /// When the next segment may leave; `None` when it may at once.
    #[inline]
    pub fn held_until(&self, now: Instant) -> Option<Instant> {
        let due = self.paid_at.saturating_sub(self.ahead);
        (self.left == 0 && due > now).then_some(due)
    }

    /// The timer for [`Pacer::held_until`] fired.
    pub fn fired(&mut self, now: Instant) {
        self.fired_at = Some(now);
    }

    /// So many bytes leave.
    pub fn sent(&mut self, now: Instant, bytes: u32) {
        if self.left == 0 || self.paid_at <= now {
            let late = if self.fired_at == Some(now) { MOST_LATE } else { Duration::ZERO };
            self.paid_at = self.paid_at.max(now.saturating_sub(late));
            self.left = self.quantum;
        }
        self.left = self.left.saturating_sub(bytes);
        self.paid_at += self.rate.time_to_send(u64::from(bytes));
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
    fn a_quantum_leaves_back_to_back_and_the_next_when_it_is_paid_for() {
        let mut p = Pacer::new(pacing(3), SMSS);
        assert_eq!(burst(&mut p, at(0), 9), 3);
        assert_eq!(p.held_until(at(1000)), Some(at(3000)));
        assert_eq!(burst(&mut p, at(3000), 2), 2, "the window or the application may stop it in the middle");
        assert_eq!(burst(&mut p, at(3500), 9), 1, "and the rest follows");
        assert_eq!(p.held_until(at(3500)), Some(at(6000)));
    }

    #[test]
    fn an_idle_sender_saves_no_rate() {
        let mut p = Pacer::new(pacing(2), SMSS);
        assert_eq!(burst(&mut p, at(0), 1), 1);
        assert_eq!(burst(&mut p, at(1_000_000), 9), 2, "one quantum, whatever was left of the last");
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
        // Beyond ten milliseconds the rate is lost.
        p.fired(at(104_000));
        assert_eq!(burst(&mut p, at(104_000), 99), 11);
    }

    #[test]
    fn a_bound_lets_bursts_run_ahead_and_no_more() {
        let mut p = Pacer::new(pacing(1), SMSS).running_ahead(Duration::from_millis(3));
        assert_eq!(burst(&mut p, at(0), 9), 4);
        assert_eq!(p.held_until(at(0)), Some(at(1000)));
        assert_eq!((burst(&mut p, at(1000), 9), burst(&mut p, at(1500), 9)), (1, 0));
    }

    #[test]
    fn what_is_owed_is_paid_at_the_new_rate() {
        let mut p = Pacer::new(pacing(4), SMSS);
        burst(&mut p, at(0), 4);
        p.set(at(2000), Pacing { rate: Rate::from_bits_per_sec(16_000_000), ..pacing(4) }, SMSS);
        assert_eq!(p.held_until(at(2000)), Some(at(3000)), "two of four are left to pay, twice as fast");
    }

    #[test]
    fn a_rate_of_zero_lets_a_segment_leave_each_second() {
        let mut p = Pacer::new(Pacing { rate: Rate::default(), quantum: 0 }, SMSS);
        assert_eq!(burst(&mut p, at(0), 9), 1);
        assert_eq!(p.held_until(at(0)), Some(at(1_000_000)));
    }
}
