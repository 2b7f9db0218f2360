//! What a probe run found.

use ackclock_engine::AbortReason;
use ackclock_policy::replay::Distribution;
use ackclock_units::{Bytes, Duration};

use super::background::Background;
use super::limit::ReplyLimit;

/// What a probe run is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbePhase {
    /// Background probes before the test.
    Before,
    /// The test.
    Test,
    /// Waiting for what is on its way.
    Drain,
    /// Looking for a limit on replies, at half the rate.
    Check,
    /// Background probes after the test.
    After,
    /// Nothing more to do.
    Done,
}

/// How far a probe run is.
#[derive(Clone, Debug)]
pub struct ProbeProgress {
    /// What it is at.
    pub phase: ProbePhase,
    /// For how long.
    pub elapsed: Duration,
    /// Of how long.
    pub of: Duration,
    /// The congestion window, segments.
    pub window_segs: f64,
    /// Background probes before the test.
    pub background: Background,
    /// The test so far; `None` before it.
    pub measured: Option<Measured>,
}

/// Replies that were not as they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Replies {
    /// To probes whose segment had been repaired already.
    pub late: u64,
    /// To probes that had been answered.
    pub again: u64,
    /// To no probe that was sent, or one sent too long ago.
    pub unknown: u64,
    /// Probes that this machine did not send: its queue was full.
    pub not_sent: u64,
}

/// The test in numbers: those of the sender as M-U1 has them, and those of the probes themselves.
#[derive(Clone, Debug)]
pub struct Measured {
    /// How long after the beginning of the test the numbers begin.
    pub after: Duration,
    /// True when they begin after the initial slow start; false when no congestion signal had ended that.
    pub slow_start_excluded: bool,
    /// How long they were taken.
    pub time: Duration,
    /// Payload acknowledged.
    pub bytes_acked: Bytes,
    /// Segments acknowledged.
    pub segments_acked: u64,
    /// Congestion-avoidance events: clock-preserving halvings.
    pub ca_events: u32,
    /// Non-CA events: timeouts, failed recoveries, further window cuts.
    pub non_ca_events: u32,
    /// Further retransmissions inside episodes.
    pub other_losses: u32,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Round-trip times that the connection sampled, delayed acknowledgments included.
    pub rtt_samples: u64,
    /// Their sum.
    pub rtt_sum: Duration,
    /// Probes sent.
    pub sent: u64,
    /// Those that came back.
    pub answered: u64,
    /// Round-trip times of the probes, seconds.
    pub rtt: Distribution,
    /// For how long the largest rate held the sender back.
    pub held: Duration,
    /// The retransmission timeout before backoff, as it was last.
    pub rto: Duration,
}

impl Measured {
    /// Bulk-transfer capacity: payload acknowledged over time, bit/s.
    pub fn capacity(&self) -> Option<f64> {
        (!self.time.is_zero()).then(|| self.bytes_acked as f64 * 8.0 / self.time.as_secs_f64())
    }

    /// Congestion signals per acknowledged segment (M-U1).
    pub fn p(&self) -> Option<f64> {
        (self.segments_acked > 0).then(|| f64::from(self.ca_events) / self.segments_acked as f64)
    }

    /// Mean of the connection's round-trip time samples, seconds.
    pub fn rtt_mean(&self) -> Option<f64> {
        (self.rtt_samples > 0).then(|| self.rtt_sum.as_secs_f64() / self.rtt_samples as f64)
    }
}

/// What a probe run found.
#[derive(Clone, Debug)]
pub struct ProbeReport {
    /// Payload of a probe, bytes.
    pub mss: u32,
    /// Its headers, bytes.
    pub headers: u32,
    /// The test; `None` when it did not begin.
    pub measured: Option<Measured>,
    /// Replies that were not as they should be.
    pub replies: Replies,
    /// Background probes before the test.
    pub before: Background,
    /// While it ran.
    pub during: Background,
    /// After it.
    pub after: Background,
    /// A limit on replies, where one was recognised.
    pub limit: Option<ReplyLimit>,
    /// Why the test ended by itself: nothing came back any more.
    pub gave_up: Option<AbortReason>,
    /// True when anything came back at all.
    pub answered: bool,
}
