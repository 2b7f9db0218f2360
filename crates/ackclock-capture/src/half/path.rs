//! What is known about the round-trip times of a direction's path.

use ackclock_policy::{Rtt, RttEstimator, RttSample, Window};
use ackclock_units::{Duration, Instant};

use super::estimators::{Estimators, LinuxTimer};
use crate::thresholds::THRESHOLDS;

/// What is known about the round-trip times of a direction's path.
#[derive(Debug)]
pub(crate) struct Path {
    /// Linux's timer, fed with the same samples.
    pub(super) linux: LinuxTimer,
    estimator: Box<dyn RttEstimator>,
    /// The estimator's result.
    pub(super) smoothed: Option<Rtt>,
    /// When the connection's first packet was captured. The times of earlier ones are not known.
    pub(super) capture_start: Instant,
    /// The least round-trip time from the capture to the receiver and back.
    pub(crate) far: Option<Duration>,
    /// The least from the capture to the sender and back, as measured by the other direction.
    pub(crate) near: Duration,
}

impl Path {
    pub(super) fn new(capture_start: Instant, estimators: &Estimators) -> Self {
        let (estimator, linux) = estimators.build();
        Self { linux, smoothed: estimator.rtt(), estimator, capture_start, far: None, near: Duration::ZERO }
    }

    /// Smoothed round-trip time of the whole path, and its deviation.
    pub(crate) fn rtt(&self) -> Option<(Duration, Duration)> {
        self.smoothed
            .map(|r| (r.srtt + self.near, r.rttvar))
            // RFC 6298 §2.2: half of the first sample.
            .or_else(|| self.far.map(|far| (far + self.near, (far + self.near) / 2)))
    }

    /// The longest time, as seen here, that the sender takes to send after an ack: it may be busy, or pace
    /// its segments.
    pub(super) fn prompt(&self) -> Duration {
        let by = THRESHOLDS.reaction;
        let paced = |srtt: Duration| by.busy.max(srtt / by.paced_part).min(srtt / by.latest_part);
        self.near + self.rtt().map_or(by.busy, |(srtt, _)| paced(srtt))
    }

    /// The shortest silence after which a tail loss probe is due (RFC 8985 §7.2).
    pub(super) fn probe_wait(&self) -> Option<Duration> {
        self.rtt().map(|(srtt, _)| srtt.mul_f64(THRESHOLDS.probe.rtts).max(THRESHOLDS.probe.soonest))
    }

    /// It was captured before any system sent tail loss probes, if the capture's clock was set.
    pub(crate) fn before_probes(&self) -> bool {
        THRESHOLDS.probe.before.contains(&self.capture_start.as_secs_f64())
    }

    /// Linux's timeout; zero before the first sample.
    pub(super) fn linux_timeout(&self) -> Duration {
        if self.linux.samples > 0 { self.linux.waits(self.near).1 } else { Duration::ZERO }
    }

    /// Takes a round-trip time from the capture to the receiver and back.
    pub(super) fn note_far(&mut self, rtt: Duration) {
        self.far = Some(self.far.map_or(rtt, |far| far.min(rtt)));
    }

    /// Takes a sample that is valid by Karn's rule.
    pub(super) fn sample(&mut self, rtt: Duration, now: Instant, flight: u64, mss: u32) {
        self.note_far(rtt);
        self.estimator.on_sample(RttSample {
            now,
            rtt,
            flight_size: flight,
            window: Window { cwnd: flight, ssthresh: u64::MAX },
            smss: mss.max(1),
            sampling_rate: 1.0,
            outstanding: None,
        });
        self.smoothed = self.estimator.rtt();
    }
}
