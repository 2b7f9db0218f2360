use ackclock_units::{Duration, Instant, Rng};

/// Interval of adaptation (Floyd, Gummadi & Shenker 2001, section 3).
const INTERVAL: Duration = Duration::from_millis(500);

/// What to do with an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DropVerdict {
    Pass,
    /// Drop at random; the packet may be marked instead.
    Early,
    /// The average is above the highest threshold.
    Forced,
}

/// The drop decision, from the average queue.
#[derive(Debug)]
pub(super) struct Drops {
    pub(super) min_th: f64,
    pub(super) max_th: f64,
    pub(super) max_p: f64,
    pub(super) gentle: bool,
    pub(super) wait: bool,
    /// The mean packet size when the probability is scaled by size.
    pub(super) byte_mode: Option<f64>,
    pub(super) adaptive: bool,
    /// Packets since the last drop, while the average is between the thresholds.
    pub(super) count: Option<u64>,
    pub(super) count_bytes: f64,
    pub(super) adapted_at: Instant,
}

impl Drops {
    /// Probability before uniformisation: linear from 0 at `min_th` to `max_p` at `max_th`; with `gentle` on
    /// to 1 at twice that.
    pub(super) fn base(&self, average: f64) -> f64 {
        if average < self.min_th {
            0.0
        } else if average < self.max_th {
            self.max_p * (average - self.min_th) / (self.max_th - self.min_th)
        } else if self.gentle && average < 2.0 * self.max_th {
            self.max_p + (1.0 - self.max_p) * (average - self.max_th) / self.max_th
        } else {
            1.0
        }
    }

    /// Probability for a packet of `bytes` after `count` packets that passed, so that drops are spread evenly
    /// rather than geometrically (Floyd & Jacobson 1993, section 7: the second method); with `wait` no drop
    /// comes before 1/p packets have passed, and one has by 2/p.
    pub(super) fn uniformised(&self, p: f64, bytes: u32) -> f64 {
        let passed = match self.byte_mode {
            Some(mean) => self.count_bytes / mean,
            None => self.count.unwrap_or(0) as f64,
        };
        let spread = passed * p;
        let p = match self.wait {
            true if spread < 1.0 => 0.0,
            true if spread < 2.0 => p / (2.0 - spread),
            false if spread < 1.0 => p / (1.0 - spread),
            _ => 1.0,
        };
        // The counter makes a drop due; the packet's size still decides whether this one is dropped (I-F12b).
        let scaled = match self.byte_mode {
            Some(mean) if p < 1.0 => p * f64::from(bytes) / mean,
            _ => p,
        };
        scaled.min(1.0)
    }

    pub(super) fn judge(&mut self, average: f64, bytes: u32, rng: &mut Rng) -> DropVerdict {
        let p = self.base(average);
        if average < self.min_th {
            self.count = None;
            return DropVerdict::Pass;
        }
        if p >= 1.0 {
            self.restart();
            return DropVerdict::Forced;
        }
        match &mut self.count {
            Some(n) => {
                *n += 1;
                self.count_bytes += f64::from(bytes);
            }
            none => {
                *none = Some(0);
                self.count_bytes = 0.0;
            }
        }
        if !rng.chance(self.uniformised(p, bytes)) {
            return DropVerdict::Pass;
        }
        self.restart();
        DropVerdict::Early
    }

    /// A packet was dropped or marked: counting starts again.
    pub(super) fn restart(&mut self) {
        self.count = Some(0);
        self.count_bytes = 0.0;
    }

    /// Adapts `max_p` so that the average moves midway between the thresholds; at most one step for each
    /// arriving packet.
    pub(super) fn adapt(&mut self, average: f64, now: Instant) {
        if !self.adaptive || now.since(self.adapted_at) < INTERVAL {
            return;
        }
        self.adapted_at = now;
        let band = self.max_th - self.min_th;
        // Floyd, Gummadi & Shenker 2001, section 3: alpha = min(0.01, max_p/4), beta = 0.9, max_p kept near
        // 0.01..0.5.
        if average > self.min_th + 0.6 * band && self.max_p <= 0.5 {
            self.max_p += (self.max_p / 4.0).min(0.01);
        } else if average < self.min_th + 0.4 * band && self.max_p >= 0.01 {
            self.max_p *= 0.9;
        }
    }
}
