//! Round trips, bandwidth and ack aggregation (§5.5.1 to §5.5.6, §5.5.9).

use ackclock_units::{Bytes, Instant, Rate};

use super::{Bbr, Sample};
use crate::window::max_filter::MaxFilter;

/// Packet-timed round trips (§5.5.1).
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// BBR.round_count.
    pub count: u64,
    /// BBR.round_start.
    pub start: bool,
    /// BBR.next_round_delivered.
    next_delivered: Bytes,
    /// The window was full in this round trip, and in the one before.
    pub is_cwnd_limited: bool,
    was_cwnd_limited: bool,
}

impl Rounds {
    /// StartRound().
    pub fn start_at(&mut self, delivered: Bytes) {
        self.next_delivered = delivered;
    }

    /// C.is_cwnd_limited: the window was full at some point in the last round trip (§2.2).
    pub fn cwnd_limited(&self) -> bool {
        self.is_cwnd_limited || self.was_cwnd_limited
    }
}

/// The largest delivery rate of this cycle of ProbeBW and of the one before (§5.5.3, §5.5.6: a bit of
/// BBR.cycle_count is enough).
#[derive(Debug, Default)]
pub(super) struct MaxBw {
    before: Rate,
    now: Rate,
}

impl MaxBw {
    pub fn get(&self) -> Rate {
        self.before.max(self.now)
    }

    fn update(&mut self, rate: Rate) {
        self.now = self.now.max(rate);
    }

    /// AdvanceMaxBwFilter(). A cycle without a sample does not count: the estimate would be lost.
    pub fn advance(&mut self) {
        if self.now > Rate::default() {
            (self.before, self.now) = (self.now, Rate::default());
        }
    }
}

/// Ack aggregation (§5.5.9).
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    pub interval_start: Instant,
    pub delivered: Bytes,
    filter: MaxFilter,
    /// BBR.extra_acked.
    pub extra_acked: Bytes,
}

impl Bbr {
    /// UpdateRound() (§5.5.1).
    fn update_round(&mut self, rs: &Sample) {
        self.rounds.start = rs.prior_delivered >= self.rounds.next_delivered;
        if self.rounds.start {
            self.start_round();
            self.rounds.count += 1;
            self.rounds.was_cwnd_limited = std::mem::take(&mut self.rounds.is_cwnd_limited);
            self.probe.rounds_since_up += 1;
        }
    }

    /// StartRound().
    pub(super) fn start_round(&mut self) {
        self.rounds.start_at(self.c.delivered);
    }

    /// UpdateMaxBw() (§5.5.5).
    pub(super) fn update_max_bw(&mut self, rs: &Sample) {
        self.update_round(rs);
        if rs.delivery_rate > Rate::default() && (rs.delivery_rate >= self.max_bw.get() || !rs.is_app_limited)
        {
            self.max_bw.update(rs.delivery_rate);
        }
    }

    /// BoundBWForModel() (§5.5.10.3).
    pub(super) fn bound_bw_for_model(&mut self) {
        self.bw = self.max_bw.get().min(self.bw_shortterm);
    }

    /// UpdateACKAggregation() (§5.5.9).
    pub(super) fn update_ack_aggregation(&mut self, rs: &Sample) {
        let interval = self.c.now.since(self.aggregation.interval_start);
        let mut expected = (self.bw.bits_per_sec() as f64 * interval.as_secs_f64() / 8.0) as Bytes;
        if self.aggregation.delivered <= expected {
            self.aggregation.delivered = 0;
            self.aggregation.interval_start = self.c.now;
            expected = 0;
        }
        self.aggregation.delivered = self.aggregation.delivered.saturating_add(rs.newly_acked);
        let extra = self.aggregation.delivered.saturating_sub(expected).min(self.c.cwnd);
        let window = if self.full_pipe.reached { self.rules.extra_acked_rounds } else { 1 };
        self.aggregation.extra_acked = self.aggregation.filter.push(window, self.rounds.count, extra);
    }
}
