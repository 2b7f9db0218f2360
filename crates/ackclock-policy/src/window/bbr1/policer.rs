//! Detection of traffic policers: long-term bandwidth sampling.

use ackclock_units::Instant;

use super::model::{BW_UNIT, us};
use super::phases::Mode;
use super::{Bbr1, Sample, UNIT};

/// Round trips of a sampling interval at least; four times as many at most.
const LEAST_ROUNDS: u32 = 4;
/// Loss rate from which an interval may be policed: 50/256.
const LOSS_THRESH: u64 = 50;
/// Two bandwidths are the same when they differ by an eighth of the first, or by 4 kbit/s.
const SAME_RATIO: u64 = UNIT / 8;
const SAME_BYTES_PER_SEC: u64 = 4000 / 8;
/// Round trips for which the policer's rate is kept.
const KEEP_ROUNDS: u32 = 48;
/// An interval of this many milliseconds is too long.
const MOST_MS: u64 = u32::MAX as u64 / 1000;

/// State of the detection.
#[derive(Debug, Default)]
pub(super) struct Policer {
    is_sampling: bool,
    uses_bw: bool,
    rounds: u32,
    bw: u64,
    /// The interval's beginning: when, and segments delivered and lost by then.
    since: Instant,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// A policer was found.
    pub fn is_policed(&self) -> bool {
        self.uses_bw
    }

    /// Its rate, while that is kept to.
    pub fn bw_in_use(&self) -> Option<u64> {
        self.uses_bw.then_some(self.bw)
    }
}

impl Bbr1 {
    fn start_policer_interval(&mut self) {
        let p = &mut self.policer;
        (p.since, p.delivered, p.lost, p.rounds) = (self.now.at, self.now.delivered, self.lost, 0);
    }

    /// `bbr_reset_lt_bw_sampling`.
    pub(super) fn reset_policer(&mut self) {
        self.policer = Policer::default();
        self.start_policer_interval();
    }

    /// `bbr_lt_bw_sampling`.
    pub(super) fn sample_policer(&mut self, s: &Sample) {
        if !self.rules.detect_policers {
            return;
        }
        if self.policer.uses_bw {
            if self.mode == Mode::ProbeBw && self.rounds.start {
                self.policer.rounds += 1;
                if self.policer.rounds >= KEEP_ROUNDS {
                    self.reset_policer();
                    self.start_probe_bw();
                }
            }
            return;
        }
        if !self.policer.is_sampling {
            // Not before the first loss: until then the policer has tokens to spare.
            if s.losses == 0 {
                return;
            }
            self.start_policer_interval();
            self.policer.is_sampling = true;
        }
        if s.is_app_limited {
            return self.reset_policer();
        }
        self.policer.rounds += u32::from(self.rounds.start);
        if self.policer.rounds < LEAST_ROUNDS {
            return;
        }
        if self.policer.rounds > 4 * LEAST_ROUNDS {
            return self.reset_policer();
        }
        // An interval ends with a loss: the tokens are used up.
        if s.losses == 0 {
            return;
        }
        let (lost, delivered) =
            (self.lost - self.policer.lost, self.now.delivered.saturating_sub(self.policer.delivered));
        if delivered == 0 || lost * UNIT < LOSS_THRESH * delivered {
            return;
        }
        let ms = us(self.now.at.since(self.policer.since)) / 1000;
        if ms < 1 {
            return;
        }
        if ms >= MOST_MS {
            return self.reset_policer();
        }
        self.end_policer_interval(delivered.saturating_mul(BW_UNIT) / (ms * 1000));
    }

    /// `bbr_lt_bw_interval_done`.
    fn end_policer_interval(&mut self, bw: u64) {
        let before = self.policer.bw;
        if before > 0 {
            let diff = bw.abs_diff(before);
            if diff.saturating_mul(UNIT) <= SAME_RATIO.saturating_mul(before)
                || self.rate(diff, UNIT) <= SAME_BYTES_PER_SEC
            {
                self.policer.bw = u64::midpoint(bw, before);
                self.policer.uses_bw = true;
                self.policer.rounds = 0;
                self.pacing_gain = UNIT;
                return;
            }
        }
        self.policer.bw = bw;
        self.start_policer_interval();
    }
}
