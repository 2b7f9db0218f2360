//! Round trips, bandwidth and ack aggregation.

use ackclock_units::{Bytes, Duration, Instant};

use super::{Bbr1, Sample};
use crate::window::max_filter::MaxFilter;

/// One segment per microsecond: bandwidths are whole 2^-24 of it (`BW_SCALE`).
pub(super) const BW_UNIT: u64 = 1 << 24;
/// Round trips of each half of the filter of ack aggregation.
const EXTRA_ACKED_ROUNDS: u32 = 5;
/// Segments after which an epoch of ack aggregation ends (`bbr_ack_epoch_acked_reset_thresh`).
const MOST_EPOCH: u64 = 1 << 20;
/// Time at the estimated bandwidth that bounds what aggregation adds to the window.
const MOST_EXTRA_US: u64 = 100_000;

/// Packet-timed round trips.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    pub count: u64,
    pub start: bool,
    /// Bytes delivered when this one ends.
    pub end: Bytes,
}

/// The largest delivery rate.
#[derive(Debug, Default)]
pub(super) struct Bandwidth {
    pub filter: MaxFilter,
}

/// What acks report beyond the expected, segments.
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    epoch_start: Instant,
    epoch_acked: u64,
    /// The largest excess of this half of the filter's window, and of the other.
    extra: [u64; 2],
    half: usize,
    rounds: u32,
}

impl Aggregation {
    /// A new epoch begins.
    pub fn restart(&mut self, now: Instant) {
        (self.epoch_start, self.epoch_acked) = (now, 0);
    }
}

/// Whole microseconds.
pub(super) fn us(d: Duration) -> u64 {
    d.as_nanos() / 1000
}

impl Bbr1 {
    /// The bandwidth in use: that of a policer, if one was found, or the largest measured.
    pub(super) fn bw(&self) -> u64 {
        self.policer.bw_in_use().unwrap_or_else(|| self.max_bw())
    }

    pub(super) fn max_bw(&self) -> u64 {
        self.bandwidth.filter.get()
    }

    /// `bbr_update_bw`.
    pub(super) fn update_bandwidth(&mut self, s: &Sample) {
        self.rounds.start = false;
        let Some((delivered, interval_us)) = s.rate else { return };
        if s.prior_delivered >= self.rounds.end {
            self.rounds.end = s.total_delivered;
            self.rounds.count += 1;
            self.rounds.start = true;
            self.packet_conservation = false;
        }
        self.sample_policer(s);
        let bw = delivered.saturating_mul(BW_UNIT) / interval_us;
        if !s.is_app_limited || bw >= self.max_bw() {
            self.bandwidth.filter.push(self.rules.bw_rounds, self.rounds.count, bw);
        }
    }

    /// `bbr_update_ack_aggregation`.
    pub(super) fn update_ack_aggregation(&mut self, s: &Sample) {
        if s.acked == 0 || s.rate.is_none() {
            return;
        }
        let (bw, now) = (self.bw(), self.now);
        let a = &mut self.aggregation;
        if self.rounds.start {
            a.rounds += 1;
            if a.rounds >= EXTRA_ACKED_ROUNDS {
                a.rounds = 0;
                a.half = 1 - a.half;
                a.extra[a.half] = 0;
            }
        }
        let mut expected = bw.saturating_mul(us(now.at.since(a.epoch_start))) / BW_UNIT;
        if a.epoch_acked <= expected || a.epoch_acked + s.acked >= MOST_EPOCH {
            a.restart(now.at);
            expected = 0;
        }
        a.epoch_acked = (a.epoch_acked + s.acked).min(MOST_EPOCH - 1);
        let extra = a.epoch_acked.saturating_sub(expected).min(now.cwnd);
        a.extra[a.half] = a.extra[a.half].max(extra);
    }

    /// `bbr_ack_aggregation_cwnd`: segments that the window has for it.
    pub(super) fn aggregation_cwnd(&self) -> u64 {
        if !self.full_pipe.reached {
            return 0;
        }
        let most = self.bw().saturating_mul(MOST_EXTRA_US) / BW_UNIT;
        self.aggregation.extra[0].max(self.aggregation.extra[1]).min(most)
    }
}
