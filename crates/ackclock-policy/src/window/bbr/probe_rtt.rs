//! The smallest round-trip time, ProbeRTT (§5.3.4), and restarts from idle (§5.4).

use ackclock_units::{Bytes, Duration, Instant};

use super::probe_bw::AckPhase;
use super::{Bbr, Sample, State};
use crate::SenderView;
use crate::window::limited::Limited;

/// State of ProbeRTT (§2.16).
#[derive(Debug, Default)]
pub(super) struct ProbeRtt {
    /// BBR.min_rtt; `None` for infinity.
    pub min_rtt: Option<Duration>,
    min_rtt_stamp: Instant,
    /// BBR.probe_rtt_min_delay and the time of it.
    min_delay: Option<Duration>,
    min_stamp: Instant,
    /// BBR.probe_rtt_expired.
    expired: bool,
    /// BBR.probe_rtt_done_stamp.
    done_stamp: Option<Instant>,
    /// BBR.probe_rtt_round_done.
    round_done: bool,
    /// BBR.idle_restart.
    idle_restart: bool,
    /// Its segments are application-limited.
    limited: Limited,
}

impl ProbeRtt {
    pub fn start(&mut self, v: &SenderView) {
        self.min_rtt = v.rtt.map(|rtt| rtt.srtt);
        self.min_delay = self.min_rtt;
        (self.min_rtt_stamp, self.min_stamp) = (v.now, v.now);
    }

    /// True when a segment sent at this count of delivered bytes was marked application-limited.
    pub fn marks(&self, delivered: Bytes) -> bool {
        self.limited.covers(delivered)
    }
}

impl Bbr {
    /// UpdateMinRTT() (§5.3.4.3).
    pub(super) fn update_min_rtt(&mut self, rs: &Sample) {
        let (now, p) = (self.c.now, &mut self.probe_rtt);
        p.expired = now > p.min_stamp + self.rules.probe_rtt_interval;
        if let Some(rtt) = rs.rtt
            && (p.expired || p.min_delay.is_none_or(|least| rtt < least))
        {
            (p.min_delay, p.min_stamp) = (Some(rtt), now);
        }
        let min_rtt_expired = now > p.min_rtt_stamp + self.rules.min_rtt_window;
        if let Some(delay) = p.min_delay
            && (min_rtt_expired || p.min_rtt.is_none_or(|least| delay < least))
        {
            (p.min_rtt, p.min_rtt_stamp) = (Some(delay), p.min_stamp);
        }
    }

    /// CheckProbeRTT() (§5.3.4.3).
    pub(super) fn check_probe_rtt(&mut self, rs: &Sample) {
        if self.state != State::ProbeRtt && self.probe_rtt.expired && !self.probe_rtt.idle_restart {
            // EnterProbeRTT().
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt.done_stamp = None;
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt();
        }
        if rs.delivered > 0 {
            self.probe_rtt.idle_restart = false;
        }
    }

    /// HandleProbeRTT() (§5.3.4.3).
    fn handle_probe_rtt(&mut self) {
        // MarkConnectionAppLimited(): low rates during ProbeRTT do not count.
        self.probe_rtt.limited.mark(self.c.delivered, self.c.inflight);
        if self.probe_rtt.done_stamp.is_none() {
            if self.c.inflight <= self.probe_rtt_cwnd() {
                self.probe_rtt.done_stamp = Some(self.c.now + self.rules.probe_rtt_duration);
                self.probe_rtt.round_done = false;
                self.start_round();
            }
            return;
        }
        self.probe_rtt.round_done |= self.rounds.start;
        if self.probe_rtt.round_done {
            self.check_probe_rtt_done();
        }
    }

    /// CheckProbeRTTDone() (§5.3.4.3).
    fn check_probe_rtt_done(&mut self) {
        if self.probe_rtt.done_stamp.is_some_and(|at| self.c.now > at) {
            self.probe_rtt.min_stamp = self.c.now;
            self.restore_cwnd();
            self.exit_probe_rtt();
        }
    }

    /// ExitProbeRTT() (§5.3.4.4).
    fn exit_probe_rtt(&mut self) {
        self.reset_short_term_model();
        if self.full_pipe.reached {
            self.start_probe_bw_down();
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }

    /// HandleRestartFromIdle() (§5.4.1), with `bytes` sent already.
    pub(super) fn handle_restart_from_idle(&mut self, bytes: u32, app_limited: bool) {
        let app_limited = app_limited || self.probe_rtt.marks(self.c.delivered);
        if self.c.inflight > u64::from(bytes) || !app_limited {
            return;
        }
        self.probe_rtt.idle_restart = true;
        self.aggregation.interval_start = self.c.now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done();
        }
    }
}
