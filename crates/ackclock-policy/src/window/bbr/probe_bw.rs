//! ProbeBW (§5.3.3).

use ackclock_units::{Bytes, Duration, Instant, Rate};

use super::params::MOST_UP_ROUNDS;
use super::{Bbr, Sample, State};

/// BBR.ack_phase: what acks mean for the probe for bandwidth (§2.14).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of ProbeBW (§2.14).
#[derive(Debug, Default)]
pub(super) struct ProbeBw {
    pub ack_phase: AckPhase,
    /// BBR.is_bw_probe_sample.
    pub is_sample: bool,
    /// BBR.bw_probe_up_acked.
    up_acked: Bytes,
    /// BBR.probe_up_acked_per_inc; 0 for infinity.
    up_acked_per_inc: Bytes,
    /// BBR.bw_probe_up_rounds.
    up_rounds: u32,
    /// BBR.rounds_since_probe_up.
    pub rounds_since_up: u64,
    /// BBR.bw_probe_wait.
    wait: Duration,
    /// BBR.cycle_stamp.
    cycle_stamp: Instant,
    /// BBR.prev_probe_too_high.
    pub prev_too_high: bool,
    /// BBR.prev_probe_precautionary.
    prev_precautionary: bool,
}

#[cfg(test)]
impl ProbeBw {
    /// BBR.bw_probe_wait, whole milliseconds.
    pub fn wait_ms(&self) -> u64 {
        self.wait.as_millis()
    }
}

impl Bbr {
    /// StartProbeBW_DOWN() (§5.3.3.9).
    pub(super) fn start_probe_bw_down(&mut self) {
        self.losses.reset();
        self.probe.up_acked_per_inc = 0;
        self.pick_probe_wait();
        self.probe.cycle_stamp = self.c.now;
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    /// StartProbeBW_CRUISE().
    pub(super) fn start_probe_bw_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// StartProbeBW_REFILL().
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.probe.up_rounds = 0;
        self.probe.up_acked = 0;
        self.probe.prev_precautionary = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// StartProbeBW_UP().
    fn start_probe_bw_up(&mut self, rs: &Sample) {
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_pipe.reset(rs.delivery_rate);
        self.state = State::Up;
        self.raise_inflight_longterm_slope();
    }

    /// PickProbeWait() (§5.3.3.8.3).
    fn pick_probe_wait(&mut self) {
        self.probe.rounds_since_up = self.rng.below(2);
        let spread = self.rng.below(self.rules.probe_wait_spread.as_nanos());
        self.probe.wait = self.rules.probe_wait + Duration::from_nanos(spread);
    }

    /// UpdateProbeBWCyclePhase() (§5.3.3.9).
    pub(super) fn update_probe_bw_cycle_phase(&mut self, rs: &Sample) {
        if !self.full_pipe.reached || self.adapt_long_term_model(rs) {
            return;
        }
        match self.state {
            State::Down if self.is_time_to_probe_bw() => self.start_probe_bw_refill(),
            State::Down if self.is_time_to_cruise() => self.start_probe_bw_cruise(),
            State::Cruise if self.is_time_to_probe_bw() => self.start_probe_bw_refill(),
            State::Refill if self.rounds.start => {
                // One round trip has refilled the pipe.
                self.probe.is_sample = true;
                self.start_probe_bw_up(rs);
            }
            State::Up => self.check_up_done(rs),
            _ => {}
        }
    }

    /// Ends ProbeBW_UP when it is time to.
    fn check_up_done(&mut self, rs: &Sample) {
        if self.is_time_to_go_down(rs.delivery_rate) {
            self.probe.prev_too_high = false;
            self.start_probe_bw_down();
        }
    }

    /// IsTimeToProbeBW() (§5.3.3.8.3).
    fn is_time_to_probe_bw(&self) -> bool {
        self.c.now > self.probe.cycle_stamp + self.probe.wait || self.is_reno_coexistence_probe_time()
    }

    /// IsRenoCoexistenceProbeTime(): after as many round trips as Reno would need, in segments.
    fn is_reno_coexistence_probe_time(&self) -> bool {
        let rounds = (self.target_inflight() / self.c.smss).min(self.rules.reno_rounds);
        self.probe.rounds_since_up >= rounds
    }

    /// TargetInflight().
    pub(super) fn target_inflight(&self) -> Bytes {
        self.bdp_multiple(self.bw, 1.0).min(self.c.cwnd)
    }

    /// IsTimeToCruise() (§5.3.3.9).
    fn is_time_to_cruise(&self) -> bool {
        self.c.inflight <= self.inflight_with_headroom()
            && self.c.inflight <= self.inflight(self.max_bw.get(), 1.0)
    }

    /// IsTimeToGoDown() (§5.3.3.9).
    fn is_time_to_go_down(&mut self, delivery_rate: Rate) -> bool {
        if self.probe.prev_too_high && self.c.inflight >= self.inflight_longterm {
            self.probe.prev_precautionary = true;
            return true;
        }
        if self.rounds.cwnd_limited() && self.c.cwnd >= self.inflight_longterm {
            // The bandwidth is limited by inflight_longterm.
            self.full_pipe.reset(delivery_rate);
            return false;
        }
        self.full_pipe.now
    }

    /// InflightWithHeadroom() (§5.3.3.9).
    pub(super) fn inflight_with_headroom(&self) -> Bytes {
        if self.inflight_longterm == Bytes::MAX {
            return Bytes::MAX;
        }
        let headroom = (self.rules.headroom * self.inflight_longterm as f64) as Bytes;
        self.inflight_longterm.saturating_sub(headroom.max(self.c.smss)).max(self.min_pipe_cwnd())
    }

    /// RaiseInflightLongtermSlope() (§5.3.3.9).
    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = 1_u64 << self.probe.up_rounds;
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(MOST_UP_ROUNDS);
        self.probe.up_acked_per_inc = (self.c.cwnd / growth_this_round).max(self.c.smss);
    }

    /// ProbeInflightLongtermUpward() (§5.3.3.9).
    pub(super) fn probe_inflight_longterm_upward(&mut self, newly_acked: Bytes) {
        if !self.rounds.cwnd_limited() || self.c.cwnd < self.inflight_longterm {
            return;
        }
        self.probe.up_acked = self.probe.up_acked.saturating_add(newly_acked);
        let per_inc = self.probe.up_acked_per_inc;
        if per_inc > 0 && self.probe.up_acked >= per_inc {
            let delta = self.probe.up_acked / per_inc;
            self.probe.up_acked -= delta * per_inc;
            self.inflight_longterm = self.inflight_longterm.saturating_add(delta.saturating_mul(self.c.smss));
        }
        if self.rounds.start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// AdaptLongTermModel() (§5.3.3.9). Returns true if it has changed the state.
    fn adapt_long_term_model(&mut self, rs: &Sample) -> bool {
        if self.probe.ack_phase == AckPhase::ProbeStarting && self.rounds.start {
            self.probe.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.probe.ack_phase == AckPhase::ProbeStopping && self.rounds.start {
            self.probe.is_sample = false;
            self.probe.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !rs.is_app_limited {
                self.max_bw.advance();
            }
            // Precautionary probing: the level that was too high before is safe now (§5.3.3.6).
            if self.state.is_probe_bw() && self.probe.prev_precautionary && !self.probe.prev_too_high {
                self.start_probe_bw_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high(rs.lost, rs.tx_in_flight) {
            if self.inflight_longterm == Bytes::MAX {
                return false;
            }
            self.inflight_longterm = self.inflight_longterm.max(rs.tx_in_flight);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward(rs.newly_acked);
            }
        }
        false
    }
}
