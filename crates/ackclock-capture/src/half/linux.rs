//! The retransmission timer and the probe timeout that Linux would have, from the samples that acks gave it:
//! Sarolahti and Kuznetsov describe its estimator ("Congestion Control in Linux TCP", USENIX 2002, on the
//! retransmission timer), RFC 8985 §7.2 the probe.

use ackclock_units::Duration;

/// Smoothed round-trip time and deviation as Linux keeps them: the deviation is the largest of a round trip,
/// and decays slowly.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinuxTimer {
    /// All in us: eight times the smoothed time, four times the deviation, the largest of this round trip and
    /// the one in use.
    srtt8: i64,
    mdev4: i64,
    mdev_max: i64,
    rttvar: i64,
    /// The round trip ends when this is acknowledged.
    round: u64,
    /// Samples taken. A single one is that of the handshake: a longer timeout remembered from earlier
    /// connections takes precedence over it.
    pub samples: u32,
}

impl LinuxTimer {
    /// A valid sample: all of what was acknowledged below `una` was sent once, or its timestamp was echoed.
    /// `max` is what had been sent.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Duration, una: u64, max: u64) {
        let rtt = (rtt.as_nanos() / 1000).clamp(1, 1 << 40) as i64;
        if self.samples == 0 {
            (self.srtt8, self.mdev4) = (rtt * 8, rtt * 2);
            self.rttvar = self.mdev4.max(LEAST);
            (self.mdev_max, self.round) = (self.rttvar, max);
        } else {
            let mut off = rtt - self.srtt8 / 8;
            self.srtt8 += off;
            if off < 0 {
                // A sample far below the mean must not raise the deviation faster than it lowers the mean.
                off = -off - self.mdev4 / 4;
                self.mdev4 += if off > 0 { off / 8 } else { off };
            } else {
                self.mdev4 += off - self.mdev4 / 4;
            }
            self.mdev_max = self.mdev_max.max(self.mdev4);
            self.rttvar = self.rttvar.max(self.mdev_max);
            if una > self.round {
                self.rttvar -= (self.rttvar - self.mdev_max).max(0) / 4;
                (self.mdev_max, self.round) = (LEAST, max);
            }
        }
        self.samples = self.samples.saturating_add(1);
    }

    /// The probe timeout for a single segment (unless the retransmission timeout is shorter) and the
    /// retransmission timeout, both from when the timer is set. `near` is the round trip between the sender
    /// and the capture.
    pub(crate) fn waits(&self, near: Duration) -> (Duration, Duration) {
        if self.samples == 0 {
            // RFC 6298 §2.1; §5.7 if the SYN was retransmitted and gave no sample.
            return (Duration::from_secs(1), Duration::from_secs(3));
        }
        let us = |us: i64| Duration::from_nanos(us.max(0) as u64 * 1000);
        let srtt = us(self.srtt8 / 8) + near;
        let timeout = srtt + us(self.rttvar);
        (srtt * 2 + us(LEAST), timeout)
    }
}

/// Its least deviation, 200 ms, which is also its wait for a delayed ack (RFC 8985 §7.2).
const LEAST: i64 = 200_000;
