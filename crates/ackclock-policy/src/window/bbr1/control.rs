//! Pacing rate and window, and what they do in a repair.

use ackclock_units::Rate;

use super::model::{BW_UNIT, us};
use super::phases::{HIGH_GAIN, Mode};
use super::{Bbr1, FIRST_PACED, MIN_CWND, Repair, Sample, UNIT};
use crate::SenderView;
use crate::offload::packet_segs;

/// Pacing stays below the estimate by this part of a hundred.
const MARGIN_PERCENT: u64 = 1;
/// Below this rate in bit/s a quantum is one segment, otherwise two at least.
const MIN_TSO_RATE: u64 = 1_200_000;
/// Most bytes of a quantum: 64 KiB less headers (`GSO_LEGACY_MAX_SIZE`), and most segments.
const MOST_TSO_BYTES: u64 = 65_535 - 320;
const MOST_TSO_SEGS: u64 = 0x7f;
/// Window without a round-trip time, and segments delivered below which the model is not trusted
/// (`TCP_INIT_CWND`).
const INIT_CWND: u64 = 10;

impl Bbr1 {
    /// A bandwidth with a gain in bytes per second, with the margin (`bbr_rate_bytes_per_sec`).
    pub(super) fn rate(&self, bw: u64, gain: u64) -> u64 {
        let bytes = (u128::from(bw) * u128::from(self.now.smss) * u128::from(gain)) / u128::from(UNIT);
        let rate = bytes * u128::from(1_000_000 / 100 * (100 - MARGIN_PERCENT)) / u128::from(BW_UNIT);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// `bbr_init_pacing_rate_from_rtt`.
    pub(super) fn init_pacing_rate(&mut self, v: &SenderView) {
        self.has_seen_rtt = v.rtt.is_some();
        let rtt_us = v.rtt.map_or(1000, |rtt| us(rtt.srtt).max(1));
        self.pacing_rate = self.rate(self.now.cwnd.saturating_mul(BW_UNIT) / rtt_us, HIGH_GAIN);
    }

    /// `bbr_set_pacing_rate`, on an ack.
    pub(super) fn set_pacing_rate(&mut self, v: &SenderView) {
        if !self.has_seen_rtt && v.rtt.is_some() {
            self.init_pacing_rate(v);
        }
        self.pace_at(self.pacing_gain);
    }

    pub(super) fn pace_at(&mut self, gain: u64) {
        let rate = self.rate(self.bw(), gain);
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_tso_segs_goal`: the segments of a packet that the model counts with.
    pub(super) fn tso_segs_goal(&self) -> u64 {
        let bytes = (self.pacing_rate >> 10).min(MOST_TSO_BYTES);
        (bytes / self.now.smss).max(self.min_tso_segs()).min(MOST_TSO_SEGS)
    }

    /// Segments that leave together, of which there are more to a near peer than that goal says.
    pub(super) fn packet_segs(&self) -> u64 {
        let smss = u32::try_from(self.now.smss).unwrap_or(u32::MAX);
        packet_segs(self.pacing_rate, self.now.min_rtt, smss, self.min_tso_segs())
    }

    /// `bbr_min_tso_segs`.
    fn min_tso_segs(&self) -> u64 {
        if self.pacing_rate < MIN_TSO_RATE / 8 { 1 } else { 2 }
    }

    /// Bytes leave: when the next may, at the pacing rate. A departure that was late is made up for by up to
    /// half of the time of these bytes (`tcp_update_skb_after_send`).
    pub(super) fn note_departure(&mut self, bytes: u32) {
        if self.departure <= self.now.at {
            self.credit = self.now.at.since(self.departure);
            self.departure = self.now.at;
        }
        if self.sent >= FIRST_PACED && self.pacing_rate > 0 {
            let rate = Rate::from_bits_per_sec(self.pacing_rate.saturating_mul(8));
            let time = rate.time_to_send(u64::from(bytes));
            let less = self.credit.min(time / 2);
            self.credit = self.credit - less;
            self.departure += time - less;
        }
    }

    /// `bbr_packets_in_net_at_edt`: what will be in the network of these segments when the next leaves.
    pub(super) fn in_network_at_departure(&self, in_flight: u64) -> u64 {
        let wait = us(self.departure.since(self.now.at));
        let delivered = self.bw().saturating_mul(wait) / BW_UNIT;
        let leaving = if self.pacing_gain > UNIT { self.tso_segs_goal() } else { 0 };
        (in_flight + leaving).saturating_sub(delivered)
    }

    /// `bbr_bdp`, rounded up.
    fn bdp(&self, bw: u64, gain: u64) -> u64 {
        let Some(min_rtt) = self.probe_rtt.min_rtt else { return INIT_CWND };
        let w = u128::from(bw) * u128::from(us(min_rtt)) * u128::from(gain) / u128::from(UNIT);
        u64::try_from(w.div_ceil(u128::from(BW_UNIT))).unwrap_or(u64::MAX)
    }

    /// `bbr_quantization_budget`.
    fn quantization_budget(&self, cwnd: u64) -> u64 {
        let cwnd = cwnd.saturating_add(3 * self.tso_segs_goal() + 1) & !1;
        if self.is_probing_up() { cwnd.saturating_add(2) } else { cwnd }
    }

    /// `bbr_inflight`.
    pub(super) fn inflight(&self, bw: u64, gain: u64) -> u64 {
        self.quantization_budget(self.bdp(bw, gain))
    }

    /// `bbr_save_cwnd`.
    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.prev_repair < Repair::Recovery && self.mode != Mode::ProbeRtt {
            self.now.cwnd
        } else {
            self.prior_cwnd.max(self.now.cwnd)
        };
    }

    /// `bbr_set_cwnd_to_recover_or_restore`. Returns true while packets are conserved.
    fn recover_or_restore(&mut self, s: &Sample) -> bool {
        let mut cwnd = self.now.cwnd;
        if s.losses > 0 {
            cwnd = cwnd.saturating_sub(s.losses).max(1);
        }
        let (before, repair) = (self.prev_repair, self.repair);
        let conserved = self.now.in_flight + s.acked;
        if repair == Repair::Recovery && before != Repair::Recovery {
            // The first round trip of a recovery begins.
            self.packet_conservation = true;
            self.rounds.end = self.probe_rtt.delivered;
            cwnd = conserved;
        } else if before >= Repair::Recovery && repair < Repair::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prev_repair = repair;
        self.now.cwnd = if self.packet_conservation { cwnd.max(conserved) } else { cwnd };
        self.packet_conservation
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_cwnd(&mut self, s: &Sample) {
        if s.acked > 0 && !self.recover_or_restore(s) {
            let target = self.bdp(self.bw(), self.cwnd_gain).saturating_add(self.aggregation_cwnd());
            let target = self.quantization_budget(target);
            let grown = self.now.cwnd.saturating_add(s.acked);
            // Linux counts the handshake as delivered.
            if self.full_pipe.reached {
                self.now.cwnd = grown.min(target);
            } else if self.now.cwnd < target || self.now.delivered + 1 < INIT_CWND {
                self.now.cwnd = grown;
            }
            self.now.cwnd = self.now.cwnd.max(MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            self.now.cwnd = self.now.cwnd.min(MIN_CWND);
        }
    }

    /// The retransmission timer expired: `bbr_ssthresh`, `bbr_set_state`, and the window of `tcp_enter_loss`
    /// once all is marked lost.
    pub(super) fn on_timeout(&mut self) {
        self.save_cwnd();
        (self.repair, self.prev_repair) = (Repair::Loss, Repair::Loss);
        self.full_pipe.bw = 0;
        // A timeout is like the end of a round trip.
        self.rounds.start = true;
        let nothing = Sample {
            rate: None,
            prior_delivered: 0,
            total_delivered: 0,
            acked: 0,
            losses: 1,
            prior_in_flight: 0,
            is_app_limited: false,
            rtt: None,
        };
        self.sample_policer(&nothing);
        self.now.cwnd = 1;
    }

    /// `bbr_undo_cwnd`.
    pub(super) fn on_undo(&mut self) {
        (self.full_pipe.bw, self.full_pipe.rounds) = (0, 0);
        self.reset_policer();
    }
}
