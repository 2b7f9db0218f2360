//! The estimators that follow the round-trip times of a direction.

use ackclock_policy::{Chosen, Registry, RttEstimator, RttSample, Window};
use ackclock_units::{Duration, Instant, SeqNumber, SeqRange};

/// Those of all directions of a capture.
#[derive(Debug)]
pub(crate) struct Estimators {
    smoothed: Chosen<dyn RttEstimator>,
    linux: Chosen<dyn RttEstimator>,
}

impl Estimators {
    /// RFC 6298's, and Linux's for the timeouts that it would have.
    pub(crate) fn new() -> Self {
        let registry = Registry::builtin();
        let choose = |name| registry.choose::<dyn RttEstimator>(name).expect("built in");
        Self { smoothed: choose("rfc6298"), linux: choose("linux") }
    }

    pub(super) fn build(&self) -> (Box<dyn RttEstimator>, LinuxTimer) {
        (self.smoothed.build(), LinuxTimer { estimator: self.linux.build(), samples: 0 })
    }
}

/// The retransmission timer and the probe timeout that Linux would have, from the samples that acks gave it.
#[derive(Debug)]
pub(crate) struct LinuxTimer {
    estimator: Box<dyn RttEstimator>,
    /// Samples taken. A single one is that of the handshake: a longer timeout remembered from earlier
    /// connections takes precedence over it.
    pub(super) samples: u32,
}

impl LinuxTimer {
    /// A valid sample, at `now`: all of what was acknowledged below `una` was sent once, or its timestamp was echoed.
    /// `max` is what had been sent.
    #[inline]
    pub(super) fn sample(&mut self, rtt: Duration, now: Instant, una: u64, max: u64) {
        let outstanding = SeqRange::new(SeqNumber(una as u32), SeqNumber(max.max(una) as u32));
        self.estimator.on_sample(RttSample {
            now,
            rtt: rtt.max(Duration::from_micros(1)),
            flight_size: max.saturating_sub(una),
            window: Window { cwnd: max.saturating_sub(una), ssthresh: u64::MAX },
            smss: 1,
            sampling_rate: 1.0,
            outstanding: Some(outstanding),
        });
        self.samples = self.samples.saturating_add(1);
    }

    /// The probe timeout for a single segment (unless the retransmission timeout is shorter) and the
    /// retransmission timeout, both from when the timer is set. `near` is the round trip between the sender
    /// and the capture.
    pub(super) fn waits(&self, near: Duration) -> (Duration, Duration) {
        match self.estimator.rtt() {
            Some(rtt) => ((rtt.srtt + near) * 2 + DELAYED_ACK, self.estimator.rto() + near),
            // RFC 6298 §2.1; §5.7 if the SYN was retransmitted and gave no sample.
            None => (self.estimator.initial_rto(), AFTER_LOST_SYN),
        }
    }
}

/// Linux's wait for the delayed ack of a single segment (RFC 8985 §7.2).
const DELAYED_ACK: Duration = Duration::from_millis(200);
/// The timeout of data after a SYN that was lost (RFC 6298 §5.7).
const AFTER_LOST_SYN: Duration = Duration::from_secs(3);
