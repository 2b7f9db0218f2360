//! Results of a probe run.

use ackclock_engine::AbortReason;
use ackclock_policy::replay::Distribution;
use ackclock_units::{Bytes, Duration};

use super::background::Background;
use super::limit::ReplyLimit;

/// The phases of a probe run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbePhase {
    /// Background probes before the test.
    Before,
    /// The test.
    Test,
    /// Waiting for outstanding replies.
    Drain,
    /// Checking for a limit on replies, at half the rate.
    Check,
    /// Background probes after the test.
    After,
    /// The run is over.
    Done,
}

/// Progress of a probe run.
#[derive(Clone, Debug)]
pub struct ProbeProgress {
    /// The present phase.
    pub phase: ProbePhase,
    /// Time since the start of the phase.
    pub elapsed: Duration,
    /// Expected duration of the phase.
    pub of: Duration,
    /// The congestion window, segments.
    pub window_segs: f64,
    /// Background probes before the test.
    pub background: Background,
    /// The test so far; `None` before it.
    pub measured: Option<Measured>,
}

/// Counters of unexpected replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Replies {
    /// Replies to probes whose segment had been acknowledged already.
    pub late: u64,
    /// Further replies to a probe.
    pub again: u64,
    /// Replies to a probe that was never sent, or too long ago.
    pub unknown: u64,
    /// Probes that this machine did not send because its queue was full.
    pub not_sent: u64,
}

/// Results of the test: the sender's counters as in M-U1, and those of the probes.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Time from the start of the test to the start of the counters.
    pub after: Duration,
    /// True when the counters start after the initial slow start; false when no congestion signal ended that.
    pub slow_start_excluded: bool,
    /// Time covered by the counters.
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
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Number of the connection's round-trip time samples, which include delayed acknowledgments.
    pub rtt_samples: u64,
    /// Their sum.
    pub rtt_sum: Duration,
    /// Probes sent.
    pub sent: u64,
    /// Probes with a reply.
    pub answered: u64,
    /// Round-trip times of the probes, seconds.
    pub rtt: Distribution,
    /// Time for which the largest rate delayed the sender.
    pub held: Duration,
    /// The last retransmission timeout, before backoff.
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

/// Results of a probe run.
#[derive(Clone, Debug)]
pub struct ProbeReport {
    /// Payload of a probe, bytes.
    pub mss: u32,
    /// Its headers, bytes.
    pub headers: u32,
    /// The test; `None` when it did not begin.
    pub measured: Option<Measured>,
    /// Counters of unexpected replies.
    pub replies: Replies,
    /// Background probes before the test.
    pub before: Background,
    /// Background probes during the test.
    pub during: Background,
    /// Background probes after the test.
    pub after: Background,
    /// A detected limit on replies.
    pub limit: Option<ReplyLimit>,
    /// Why the connection was aborted, if it was: no replies arrived any more.
    pub gave_up: Option<AbortReason>,
    /// True when there was any reply.
    pub answered: bool,
}
