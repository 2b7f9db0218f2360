//! The four modes: Startup, Drain, ProbeBW with its cycle of gains, ProbeRTT.

use ackclock_units::{Bytes, Duration, Instant};

use super::model::us;
use super::{Bbr1, MIN_CWND, Sample, UNIT};
use crate::SenderView;
use crate::window::limited::Limited;

/// 2/ln 2: the window doubles each round trip (`bbr_high_gain`).
pub(super) const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Its inverse: what Startup has queued drains in a round trip.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// Window of ProbeBW.
const CWND_GAIN: u64 = UNIT * 2;
/// The cycle of ProbeBW: probe, drain, cruise.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Phases of it with which ProbeBW may begin: all but the one that drains.
const CYCLE_RAND: u64 = 7;
/// Growth of the bandwidth by which the pipe is not yet full, and round trips without it.
const FULL_BW_THRESH: u64 = UNIT * 5 / 4;
const FULL_BW_ROUNDS: u32 = 3;

/// How it decides how fast to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Whether Startup has filled the pipe.
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    pub reached: bool,
    pub bw: u64,
    pub rounds: u32,
}

/// The smallest round-trip time, and the drain that measures it anew.
#[derive(Debug, Default)]
pub(super) struct ProbeRtt {
    pub min_rtt: Option<Duration>,
    stamp: Instant,
    done_at: Option<Instant>,
    round_done: bool,
    /// Its segments are application-limited.
    pub limited: Limited,
    /// Bytes delivered by the connection.
    pub delivered: Bytes,
}

impl ProbeRtt {
    pub fn start(&mut self, v: &SenderView) {
        (self.min_rtt, self.stamp) = (v.rtt.map(|rtt| rtt.min_rtt), v.now);
    }
}

impl Bbr1 {
    /// `bbr_is_next_cycle_phase`.
    fn is_next_cycle_phase(&self, s: &Sample) -> bool {
        let phase = self.now.at.since(self.cycle_stamp);
        let is_full_length = self.probe_rtt.min_rtt.is_some_and(|least| us(phase) > us(least));
        if self.pacing_gain == UNIT {
            return is_full_length;
        }
        let in_flight = self.in_network_at_departure(s.prior_in_flight);
        if self.pacing_gain > UNIT {
            let raised = in_flight >= self.inflight(self.max_bw(), self.pacing_gain);
            return is_full_length && (s.losses > 0 || raised);
        }
        is_full_length || in_flight <= self.inflight(self.max_bw(), UNIT)
    }

    /// `bbr_update_cycle_phase`.
    pub(super) fn update_cycle_phase(&mut self, s: &Sample) {
        if self.mode == Mode::ProbeBw && self.is_next_cycle_phase(s) {
            self.advance_cycle();
        }
    }

    fn advance_cycle(&mut self) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_stamp = self.now.at;
    }

    /// True in the phase that probes for bandwidth.
    pub(super) fn is_probing_up(&self) -> bool {
        self.mode == Mode::ProbeBw && self.cycle == 0
    }

    /// `bbr_reset_probe_bw_mode`.
    pub(super) fn start_probe_bw(&mut self) {
        self.mode = Mode::ProbeBw;
        self.cycle = CYCLE.len() - 1 - self.rng.below(CYCLE_RAND) as usize;
        self.advance_cycle();
    }

    /// Goes on with the phase of the cycle that follows the one with this gain; of those that cruise the first.
    pub(super) fn go_on_after(&mut self, gain: f64, now: Instant) {
        let of = |phase: &u64| (*phase as f64 / UNIT as f64 - gain).abs() < 0.01;
        if self.mode == Mode::ProbeBw
            && let Some(phase) = CYCLE.iter().position(of)
        {
            (self.cycle, self.cycle_stamp) = (phase, now);
            if CYCLE[phase] != UNIT {
                self.cycle = phase + 1;
            }
            self.pacing_gain = CYCLE[self.cycle];
            self.pace_at(self.pacing_gain);
        }
    }

    /// `bbr_check_full_bw_reached`.
    pub(super) fn check_full_pipe(&mut self, s: &Sample) {
        if self.full_pipe.reached || !self.rounds.start || s.is_app_limited {
            return;
        }
        let bw = self.max_bw();
        let p = &mut self.full_pipe;
        if bw >= p.bw.saturating_mul(FULL_BW_THRESH) / UNIT {
            (p.bw, p.rounds) = (bw, 0);
            return;
        }
        p.rounds += 1;
        p.reached = p.rounds >= FULL_BW_ROUNDS;
    }

    /// `bbr_check_drain`.
    pub(super) fn check_drain(&mut self) {
        let full = self.inflight(self.max_bw(), UNIT);
        if self.mode == Mode::Startup && self.full_pipe.reached {
            self.mode = Mode::Drain;
            self.ssthresh = full.saturating_mul(self.now.smss);
        }
        if self.mode == Mode::Drain && self.in_network_at_departure(self.now.in_flight) <= full {
            self.start_probe_bw();
        }
    }

    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(&mut self, s: &Sample) {
        let now = self.now.at;
        let expired = now > self.probe_rtt.stamp + self.rules.min_rtt_window;
        // One that is as small as the smallest does not put off the next drain (Linux 5.10 and later).
        if let Some(rtt) = s.rtt
            && (expired || self.probe_rtt.min_rtt.is_none_or(|least| rtt < least))
        {
            (self.probe_rtt.min_rtt, self.probe_rtt.stamp) = (Some(rtt), now);
        }
        let draining = self.rules.probe_rtt_duration > Duration::ZERO;
        if draining && expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            // Not `save_cwnd` before the mode: Linux takes the larger of the window and the one saved last.
            self.save_cwnd();
            self.probe_rtt.done_at = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.drain(now);
        }
        if s.total_delivered > s.prior_delivered {
            self.idle_restart = false;
        }
    }

    fn drain(&mut self, now: Instant) {
        let in_flight = self.now.in_flight;
        let p = &mut self.probe_rtt;
        p.limited.mark(p.delivered, in_flight * self.now.smss);
        if p.done_at.is_none() {
            if in_flight <= MIN_CWND {
                p.done_at = Some(now + self.rules.probe_rtt_duration);
                p.round_done = false;
                self.rounds.end = p.delivered;
            }
            return;
        }
        p.round_done |= self.rounds.start;
        if p.round_done {
            self.check_probe_rtt_done();
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self) {
        if self.probe_rtt.done_at.is_none_or(|at| self.now.at <= at) {
            return;
        }
        self.probe_rtt.stamp = self.now.at;
        self.now.cwnd = self.now.cwnd.max(self.prior_cwnd);
        if self.full_pipe.reached {
            self.start_probe_bw();
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `bbr_update_gains`.
    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.is_policed() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}
