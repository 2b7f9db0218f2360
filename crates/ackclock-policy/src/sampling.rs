use ackclock_units::SeqNumber;

/// Round-trip time samples per outstanding segment (E-A3), counted over one round trip after another: 1/2
/// with delayed acks.
#[derive(Clone, Copy, Debug)]
pub struct SamplingRate {
    rate: f64,
    /// End of the round trip being counted.
    end: SeqNumber,
    samples: u32,
    segments: u32,
}

impl SamplingRate {
    /// A rate of one sample per segment, until the first round trip from `iss` on has been counted.
    pub const fn new(iss: SeqNumber) -> Self {
        Self { rate: 1.0, end: iss, samples: 0, segments: 0 }
    }

    /// Counts an ack of `segments` segments; to be called while nothing is being repaired. `sampled`: it gave
    /// a round-trip time sample.
    #[inline]
    pub fn on_ack(&mut self, ack: SeqNumber, segments: u32, sampled: bool, snd_nxt: SeqNumber) {
        self.samples += u32::from(sampled);
        self.segments += segments;
        if ack >= self.end {
            if self.samples > 0 && self.segments > 0 {
                self.rate = (f64::from(self.samples) / f64::from(self.segments)).min(1.0);
            }
            (self.end, self.samples, self.segments) = (snd_nxt, 0, 0);
        }
    }

    /// Samples per segment.
    pub fn rate(self) -> f64 {
        self.rate
    }
}
