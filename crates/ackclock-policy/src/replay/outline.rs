use ackclock_units::{Duration, Instant};

/// Consecutive samples drawn as one point with its range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// When the first of them arrived.
    pub time: Instant,
    /// How many.
    pub samples: u64,
    /// Smallest round-trip time.
    pub rtt_min: Duration,
    /// Largest.
    pub rtt_max: Duration,
    /// Smallest timeout.
    pub rto_min: Duration,
    /// Largest.
    pub rto_max: Duration,
}

impl Stretch {
    fn join(self, next: Self) -> Self {
        Self {
            time: self.time,
            samples: self.samples + next.samples,
            rtt_min: self.rtt_min.min(next.rtt_min),
            rtt_max: self.rtt_max.max(next.rtt_max),
            rto_min: self.rto_min.min(next.rto_min),
            rto_max: self.rto_max.max(next.rto_max),
        }
    }
}

/// A series of any length as a bounded number of stretches, all of the same length but for the last. No peak
/// is lost: a stretch keeps its extremes.
#[derive(Clone, Debug)]
pub struct Outline {
    most: usize,
    /// Samples to a stretch.
    stride: u64,
    stretches: Vec<Stretch>,
}

impl Outline {
    /// An outline of at most `most` stretches (one less if that is odd); 0 for none.
    pub fn new(most: usize) -> Self {
        Self { most: most & !1, stride: 1, stretches: Vec::new() }
    }

    #[inline]
    pub(super) fn add(&mut self, time: Instant, rtt: Duration, rto: Duration) {
        if self.most == 0 {
            return;
        }
        let one = Stretch { time, samples: 1, rtt_min: rtt, rtt_max: rtt, rto_min: rto, rto_max: rto };
        match self.stretches.last_mut() {
            Some(last) if last.samples < self.stride => *last = last.join(one),
            _ => {
                if self.stretches.len() == self.most {
                    self.halve();
                }
                self.stretches.push(one);
            }
        }
    }

    /// Joins the stretches in pairs, which halves their number and doubles their length. All are full, and
    /// their number is even.
    fn halve(&mut self) {
        for i in 0..self.most / 2 {
            self.stretches[i] = self.stretches[2 * i].join(self.stretches[2 * i + 1]);
        }
        self.stretches.truncate(self.most / 2);
        self.stride *= 2;
    }

    /// The stretches so far.
    pub fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }
}
