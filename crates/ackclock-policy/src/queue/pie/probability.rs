use ackclock_units::{Duration, Instant, Rng};

/// Updates that are caught up with at once: a minute's with the default interval. After a longer time without
/// a packet, the state has settled unless the parameters are extreme.
const MOST_UPDATES: u64 = 4096;

/// The drop probability and the burst allowance (RFC 8033 sections 4.1 to 4.4), updated by a timer.
///
/// The timer is not one: [`Drops::advance`] computes the updates that were due since the last call. The
/// queueing delay changes only where a packet leaves, which is a call too, so the result is the same.
#[derive(Debug)]
pub(super) struct Drops {
    /// QDELAY_REF.
    pub(super) target: Duration,
    /// T_UPDATE.
    pub(super) t_update: Duration,
    /// Gains in Hz.
    pub(super) alpha: f64,
    pub(super) beta: f64,
    pub(super) max_burst: Duration,
    pub(super) derandomize: bool,
    pub(super) probability: f64,
    /// Queueing delay at the last update.
    pub(super) qdelay_old: Duration,
    pub(super) burst_allowance: Duration,
    /// Sum of the probabilities since the last drop (RFC 8033 section 5.4).
    pub(super) accumulated: f64,
    pub(super) next_update: Instant,
}

impl Drops {
    /// Computes the updates due by `now`, with the queueing delay since the last call.
    #[inline]
    pub(super) fn advance(&mut self, now: Instant, qdelay: Duration) {
        if now >= self.next_update {
            self.catch_up(now, qdelay);
        }
    }

    #[inline(never)]
    fn catch_up(&mut self, now: Instant, qdelay: Duration) {
        let due = 1 + now.since(self.next_update).as_nanos() / self.t_update.as_nanos();
        let span = self.t_update.saturating_mul(due);
        self.next_update += span;
        self.burst_allowance = self.burst_allowance.saturating_sub(span);
        for _ in 0..due.min(MOST_UPDATES) {
            let before = (self.probability, self.qdelay_old);
            self.update(qdelay);
            if before == (self.probability, qdelay) {
                break;
            }
        }
    }

    /// One update of the probability (RFC 8033 section 4.2).
    pub(super) fn update(&mut self, qdelay: Duration) {
        let seconds = |d: Duration| d.as_secs_f64();
        let mut p = self.alpha * (seconds(qdelay) - seconds(self.target))
            + self.beta * (seconds(qdelay) - seconds(self.qdelay_old));
        p /= self.divisor();
        // Section 5.5: no more than 2 % at a time.
        if self.probability >= 0.1 {
            p = p.min(0.02);
        }
        self.probability += p;
        if qdelay.is_zero() && self.qdelay_old.is_zero() {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.qdelay_old = qdelay;
    }

    /// The gains are divided by this: small probabilities change in small steps (the table of section 4.2).
    fn divisor(&self) -> f64 {
        match self.probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        }
    }

    /// Decides over a packet that arrives; `short` when no more than two packets wait.
    #[inline]
    pub(super) fn drops(&mut self, qdelay: Duration, short: bool, rng: &mut Rng) -> bool {
        let half = self.target / 2;
        // Section 4.4: the queue has been short for two updates.
        if self.probability == 0.0 && qdelay < half && self.qdelay_old < half {
            self.burst_allowance = self.max_burst;
        }
        if !self.burst_allowance.is_zero() {
            return false;
        }
        // Section 4.1: work is conserved.
        if short || (self.qdelay_old < half && self.probability < 0.2) {
            return false;
        }
        self.chance(rng)
    }

    fn chance(&mut self, rng: &mut Rng) -> bool {
        if self.derandomize {
            // Section 5.4: no drop soon after another, and one at the latest when the sum is ten times as
            // large.
            self.accumulated =
                if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
            if self.accumulated < 0.85 {
                return false;
            }
        }
        let drop = self.accumulated >= 8.5 || rng.unit() < self.probability;
        if drop {
            self.accumulated = 0.0;
        }
        drop
    }
}
