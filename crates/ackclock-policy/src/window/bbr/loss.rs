//! The model after losses (§5.5.10), spurious ones (§5.5.11), and the window in a recovery (§5.6.4.4).

use ackclock_units::{Bytes, Rate};

use super::{Bbr, Sample, State, UNLIMITED, scaled};
use crate::LostSegment;

/// What the last round trip has delivered, and whether it lost something (§2.10, §2.14).
#[derive(Debug, Default)]
pub(super) struct LossSignals {
    /// BBR.is_loss_in_round.
    in_round: bool,
    /// BBR.loss_round_start.
    pub round_start: bool,
    /// BBR.loss_round_delivered.
    round_delivered: Bytes,
    /// BBR.bw_latest.
    bw_latest: Rate,
    /// BBR.inflight_latest.
    pub inflight_latest: Bytes,
}

impl LossSignals {
    /// ResetCongestionSignals().
    pub fn reset(&mut self) {
        (self.in_round, self.bw_latest, self.inflight_latest) = (false, Rate::default(), 0);
    }
}

/// State to restore where a recovery was spurious (§2.15).
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// BBR.undo_state.
    pub state: Option<State>,
    /// It was saved in this episode: the losses that follow belong to it.
    saved: bool,
    bw_shortterm: Rate,
    inflight_shortterm: Bytes,
    inflight_longterm: Bytes,
}

impl Bbr {
    /// UpdateLatestDeliverySignals() (§5.5.10.3).
    pub(super) fn update_latest_delivery_signals(&mut self, rs: &Sample) {
        let l = &mut self.losses;
        l.bw_latest = l.bw_latest.max(rs.delivery_rate);
        l.inflight_latest = l.inflight_latest.max(rs.delivered);
        l.round_start = rs.prior_delivered >= l.round_delivered;
        if l.round_start {
            l.round_delivered = self.c.delivered;
        }
    }

    /// AdvanceLatestDeliverySignals().
    pub(super) fn advance_latest_delivery_signals(&mut self, rs: &Sample) {
        if self.losses.round_start {
            (self.losses.bw_latest, self.losses.inflight_latest) = (rs.delivery_rate, rs.delivered);
        }
    }

    /// UpdateCongestionSignals().
    pub(super) fn update_congestion_signals(&mut self, rs: &Sample) {
        self.update_max_bw(rs);
        if self.losses.round_start {
            self.adapt_lower_bounds_from_congestion();
            self.losses.in_round = false;
        }
    }

    /// AdaptLowerBoundsFromCongestion(), once per round trip.
    fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.state.is_probing_bw() || !self.losses.in_round {
            return;
        }
        // InitLowerBounds().
        if self.bw_shortterm == UNLIMITED {
            self.bw_shortterm = self.max_bw.get();
        }
        if self.inflight_shortterm == Bytes::MAX {
            self.inflight_shortterm = self.c.cwnd;
        }
        // LossLowerBounds().
        let beta = self.rules.beta;
        self.bw_shortterm = self.losses.bw_latest.max(scaled(self.bw_shortterm, beta));
        let left = (beta * self.inflight_shortterm as f64) as Bytes;
        self.inflight_shortterm = self.losses.inflight_latest.max(left);
    }

    /// ResetShortTermModel().
    pub(super) fn reset_short_term_model(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (UNLIMITED, Bytes::MAX);
    }

    /// IsInflightTooHigh() (§5.5.10.2).
    pub(super) fn is_inflight_too_high(&self, lost: Bytes, tx_in_flight: Bytes) -> bool {
        lost as f64 > tx_in_flight as f64 * self.rules.loss_thresh || (lost > 0 && !self.c.has_selective_acks)
    }

    /// HandleInflightTooHigh() (§5.5.10.2).
    fn handle_inflight_too_high(&mut self, tx_in_flight: Bytes, is_app_limited: bool) {
        self.probe.prev_too_high = true;
        // Only one response per probe.
        self.probe.is_sample = false;
        if !is_app_limited {
            let left = (self.target_inflight() as f64 * self.rules.beta) as Bytes;
            self.inflight_longterm = tx_in_flight.max(left);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_probe_bw_down();
        }
    }

    /// NoteLoss() (§5.5.10.2).
    fn note_loss(&mut self) {
        if !self.losses.in_round {
            self.losses.round_delivered = self.c.delivered;
        }
        self.losses.in_round = true;
        if !self.undo.saved {
            self.save_state_upon_loss();
        }
    }

    /// HandleLostPacket() (§5.5.10.2).
    pub(super) fn handle_lost_packet(&mut self, p: &LostSegment) {
        self.c.delivered = p.total_delivered;
        self.startup_loss.note(p);
        self.note_loss();
        if self.probe.is_sample && self.is_inflight_too_high(p.lost, p.in_flight) {
            let inflight = self.inflight_at_loss(p);
            self.handle_inflight_too_high(inflight, p.app_limited);
        }
    }

    /// InflightAtLoss(): how much was in flight when the losses crossed the threshold, within this segment.
    pub(super) fn inflight_at_loss(&self, p: &LostSegment) -> Bytes {
        let (size, thresh) = (f64::from(p.range.len()), self.rules.loss_thresh);
        let (inflight_prev, lost_prev) = (p.in_flight as f64 - size, p.lost as f64 - size);
        // The threshold may be 1, where nothing is too much.
        let lost_prefix = (thresh * inflight_prev - lost_prev) / (1.0 - thresh).max(f64::EPSILON);
        (inflight_prev + lost_prefix) as Bytes
    }

    /// A mark counts as congestion (§3.7), as a loss of this round trip does.
    pub(super) fn on_marks(&mut self) {
        self.note_loss();
        if self.probe.is_sample {
            self.handle_inflight_too_high(self.c.inflight, false);
        }
    }

    /// True in fast recovery.
    pub(super) fn in_fast_recovery(&self) -> bool {
        self.in_loss_recovery && !self.after_rto
    }

    /// OnEnterFastRecovery() (§5.6.4.4). The first loss of the episode has saved window and state already.
    pub(super) fn on_enter_fast_recovery(&mut self) {
        if !self.undo.saved {
            self.save_state_upon_loss();
        }
        (self.in_loss_recovery, self.after_rto) = (true, false);
    }

    /// OnEnterRTO() (§5.6.4.4). All that is outstanding is about to be marked lost.
    pub(super) fn on_enter_rto(&mut self) {
        self.save_state_upon_loss();
        (self.in_loss_recovery, self.after_rto) = (true, true);
        self.c.cwnd = self.c.smss;
    }

    /// The recovery is over (§5.6.4.4).
    pub(super) fn on_exit_recovery(&mut self) {
        self.restore_cwnd();
        (self.in_loss_recovery, self.undo.saved) = (false, false);
    }

    /// SaveStateUponLoss() (§5.5.11.1).
    fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            saved: true,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection() (§5.5.11.2).
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.restore_cwnd();
        (self.in_loss_recovery, self.undo.saved) = (false, false);
        self.losses.in_round = false;
        self.full_pipe.reset(Rate::default());
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
    }

    /// SaveCwnd() (§5.6.4.4).
    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.in_loss_recovery || self.state == State::ProbeRtt {
            self.prior_cwnd.max(self.c.cwnd)
        } else {
            self.c.cwnd
        };
    }

    /// RestoreCwnd() (§5.6.4.4).
    pub(super) fn restore_cwnd(&mut self) {
        self.c.cwnd = self.c.cwnd.max(self.prior_cwnd);
    }
}
