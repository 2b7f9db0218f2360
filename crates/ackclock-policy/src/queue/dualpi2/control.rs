use ackclock_units::{Duration, Instant};

/// Updates that are caught up with at once: a minute's with the default interval.
const MOST_UPDATES: u64 = 4096;

/// The base probability `p'` of both queues (RFC 9332 appendix A), updated by a timer.
///
/// The timer is not one: [`Pi::advance`] computes the updates that were due since the last call, each with
/// the ages that the oldest packets had then.
#[derive(Debug)]
pub(super) struct Pi {
    pub(super) target: Duration,
    pub(super) t_update: Duration,
    /// Gains in Hz.
    pub(super) alpha: f64,
    pub(super) beta: f64,
    pub(super) p: f64,
    pub(super) prevq: Duration,
    pub(super) next_update: Instant,
}

impl Pi {
    /// Computes the updates due by `now`. `oldest`: when the packet that has waited longest arrived.
    #[inline]
    pub(super) fn advance(&mut self, now: Instant, oldest: Option<Instant>) {
        if now >= self.next_update {
            self.catch_up(now, oldest);
        }
    }

    #[inline(never)]
    fn catch_up(&mut self, now: Instant, oldest: Option<Instant>) {
        let due = 1 + now.since(self.next_update).as_nanos() / self.t_update.as_nanos();
        let first = self.next_update;
        self.next_update += self.t_update.saturating_mul(due);
        let mut at = first;
        for _ in 0..due.min(MOST_UPDATES) {
            let curq = oldest.map_or(Duration::ZERO, |oldest| at.since(oldest));
            if curq.is_zero() && self.prevq.is_zero() && self.p == 0.0 {
                break;
            }
            self.update(curq);
            at += self.t_update;
        }
    }

    /// One update (RFC 9332 figure 8, with the bounds that it leaves to the text).
    pub(super) fn update(&mut self, curq: Duration) {
        let seconds = |d: Duration| d.as_secs_f64();
        self.p += self.alpha * (seconds(curq) - seconds(self.target))
            + self.beta * (seconds(curq) - seconds(self.prevq));
        self.p = self.p.clamp(0.0, 1.0);
        self.prevq = curq;
    }
}

/// Returns true with a certain likelihood, evenly spread (`recur` of RFC 9332 figure 4).
#[derive(Debug, Default)]
pub(super) struct Recur(f64);

impl Recur {
    pub(super) fn next(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        if self.0 > 1.0 {
            self.0 -= 1.0;
            return true;
        }
        false
    }
}
