//! Pacing rate, quantum and window (§5.6).

use ackclock_units::{Bytes, Duration, Rate};

use super::params::MOST_QUANTUM;
use super::{Bbr, Sample, State, scaled};
use crate::SenderView;

impl Bbr {
    /// BBR.pacing_gain (§5.6.1).
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.rules.startup_pacing_gain,
            State::Drain => self.rules.drain_pacing_gain,
            State::Down => self.rules.down_pacing_gain,
            State::Up => self.rules.up_pacing_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    /// BBR.cwnd_gain (§5.6.1).
    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => self.rules.up_cwnd_gain,
            State::ProbeRtt => self.rules.probe_rtt_cwnd_gain,
            _ => self.rules.cwnd_gain,
        }
    }

    /// InitPacingRate() (§5.6.2).
    pub(super) fn init_pacing_rate(&mut self, v: &SenderView) {
        let srtt = v.rtt.map(|rtt| rtt.srtt).filter(|srtt| !srtt.is_zero());
        self.has_seen_rtt = srtt.is_some();
        let nominal = Rate::from_transfer(self.c.initial_cwnd, srtt.unwrap_or(Duration::from_millis(1)));
        self.pacing_rate = scaled(nominal, self.rules.startup_pacing_gain);
    }

    /// The first round-trip time replaces the nominal one (§5.6.2).
    pub(super) fn adopt_first_rtt(&mut self, v: &SenderView) {
        if !self.has_seen_rtt && v.rtt.is_some() {
            self.init_pacing_rate(v);
        }
    }

    /// SetPacingRateWithGain() (§5.6.2).
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = scaled(self.bw, gain * (1.0 - self.rules.pacing_margin));
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// SetPacingRate().
    pub(super) fn set_pacing_rate(&mut self) {
        self.set_pacing_rate_with_gain(self.pacing_gain());
    }

    /// SetSendQuantum() (§5.6.3).
    pub(super) fn set_send_quantum(&mut self) {
        let bytes = self.pacing_rate.bits_per_sec() as f64 * self.rules.quantum_time.as_secs_f64() / 8.0;
        self.send_quantum = (bytes as Bytes).min(MOST_QUANTUM).max(2 * self.c.smss);
    }

    /// BBR.MinPipeCwnd (§2.8).
    pub(super) fn min_pipe_cwnd(&self) -> Bytes {
        self.rules.min_pipe_segs * self.c.smss
    }

    /// BDPMultiple() (§5.6.4.2).
    pub(super) fn bdp_multiple(&self, bw: Rate, gain: f64) -> Bytes {
        match self.probe_rtt.min_rtt {
            Some(min_rtt) => (gain * bw.bits_per_sec() as f64 * min_rtt.as_secs_f64() / 8.0) as Bytes,
            None => self.c.initial_cwnd,
        }
    }

    /// QuantizationBudget() (§5.6.4.2).
    fn quantization_budget(&self, inflight_cap: Bytes) -> Bytes {
        let offload_budget = self.rules.offload_quanta * self.send_quantum;
        let cap = inflight_cap.max(offload_budget).max(self.min_pipe_cwnd());
        if self.state == State::Up { cap.saturating_add(2 * self.c.smss) } else { cap }
    }

    /// Inflight() (§5.6.4.2).
    pub(super) fn inflight(&self, bw: Rate, gain: f64) -> Bytes {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// ProbeRTTCwnd() (§5.6.4.5).
    pub(super) fn probe_rtt_cwnd(&self) -> Bytes {
        self.bdp_multiple(self.bw, self.rules.probe_rtt_cwnd_gain).max(self.min_pipe_cwnd())
    }

    /// SetCwnd() (§5.6.4.6).
    pub(super) fn set_cwnd(&mut self, rs: &Sample) {
        // UpdateMaxInflight().
        let cap = self.bdp_multiple(self.bw, self.cwnd_gain()).saturating_add(self.aggregation.extra_acked);
        let max_inflight = self.quantization_budget(cap);
        let cwnd = self.c.cwnd.saturating_add(rs.newly_acked);
        if self.full_pipe.reached {
            self.c.cwnd = cwnd.min(max_inflight);
        } else if self.c.cwnd < max_inflight || self.c.delivered < self.c.initial_cwnd {
            self.c.cwnd = cwnd;
        }
        self.c.cwnd = self.c.cwnd.max(self.min_pipe_cwnd());
        // BoundCwndForProbeRTT() (§5.6.4.5).
        if self.state == State::ProbeRtt {
            self.c.cwnd = self.c.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// BoundCwndForModel() (§5.6.4.7).
    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => Bytes::MAX,
        };
        let cap = cap.min(self.inflight_shortterm).max(self.min_pipe_cwnd());
        self.c.cwnd = self.c.cwnd.min(cap);
    }
}
