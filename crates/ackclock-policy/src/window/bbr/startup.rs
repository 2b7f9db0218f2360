//! Startup and Drain (§5.3.1, §5.3.2), and the full-pipe estimators.

use ackclock_units::{Rate, SeqNumber};

use super::{Bbr, Sample, State, scaled};
use crate::LostSegment;

/// The estimator that looks for a plateau of the bandwidth (§5.3.1.2).
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw_reached.
    pub reached: bool,
    /// BBR.full_bw_now.
    pub now: bool,
    /// BBR.full_bw.
    pub bw: Rate,
    /// BBR.full_bw_count.
    pub count: u64,
}

impl FullPipe {
    /// ResetFullBW(), with a baseline.
    pub fn reset(&mut self, bw: Rate) {
        (self.bw, self.count, self.now) = (bw, 0, false);
    }
}

/// Losses of this round trip in Startup (§5.3.1.3).
#[derive(Debug, Default)]
pub(super) struct StartupLoss {
    /// Discontiguous ranges lost.
    ranges: u64,
    /// End of the last of them.
    end: Option<SeqNumber>,
}

impl StartupLoss {
    /// A segment was marked lost. Segments are marked in ascending order.
    pub fn note(&mut self, segment: &LostSegment) {
        self.ranges += u64::from(self.end != Some(segment.range.start));
        self.end = Some(segment.range.end);
    }
}

impl Bbr {
    /// EnterStartup() (§5.3.1.1).
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// CheckFullBWReached() (§5.3.1.2).
    pub(super) fn check_full_bw_reached(&mut self, rs: &Sample) {
        if self.full_pipe.now || !self.rounds.start || rs.is_app_limited {
            return;
        }
        if rs.delivery_rate >= scaled(self.full_pipe.bw, self.rules.full_bw_growth) {
            self.full_pipe.reset(rs.delivery_rate);
            return;
        }
        self.full_pipe.count += 1;
        self.full_pipe.now = self.full_pipe.count >= self.rules.full_bw_rounds;
        self.full_pipe.reached |= self.full_pipe.now;
    }

    /// CheckStartupDone() (§5.3.1.1).
    pub(super) fn check_startup_done(&mut self, rs: &Sample) {
        self.check_startup_high_loss(rs);
        if self.state == State::Startup && self.full_pipe.reached {
            self.enter_drain();
        }
    }

    /// CheckStartupHighLoss() (§5.3.1.3). The first loss of a round trip begins the round of losses, so that
    /// at its end the recovery has lasted for one.
    fn check_startup_high_loss(&mut self, rs: &Sample) {
        let ranges = self.startup_loss.ranges;
        if self.losses.round_start {
            self.startup_loss = StartupLoss::default();
        }
        if self.state != State::Startup || self.full_pipe.reached || !self.in_fast_recovery() {
            return;
        }
        let high = self.losses.round_start
            && ranges >= self.rules.full_loss_ranges
            && self.is_inflight_too_high(rs.lost, rs.tx_in_flight);
        if high || !self.c.has_selective_acks {
            self.undo.state = Some(State::Startup);
            (self.full_pipe.now, self.full_pipe.reached) = (true, true);
            self.inflight_longterm = self.bdp_multiple(self.bw, 1.0).max(self.losses.inflight_latest);
        }
    }

    /// EnterDrain() (§5.3.2).
    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.rounds.count;
    }

    /// CheckDrainDone() (§5.3.2).
    pub(super) fn check_drain_done(&mut self) {
        if self.state == State::Drain
            && (self.c.inflight <= self.inflight(self.bw, 1.0)
                || self.rounds.count > self.drain_start_round + 3)
        {
            // EnterProbeBW().
            self.start_probe_bw_down();
        }
    }
}
