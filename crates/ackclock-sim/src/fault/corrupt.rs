use ackclock_policy::{Entry, Param};
use ackclock_units::{Instant, Rng};

use super::{Fault, Of, Passing, Verdict};

struct CorruptAtRandom {
    p: f64,
    of: Of,
}

impl Fault for CorruptAtRandom {
    fn verdict(&mut self, packet: &Passing, _: Instant, rng: &mut Rng) -> Verdict {
        // Only packets that it looks at draw, so that acks do not change which data is struck.
        if self.of.includes(packet) && rng.chance(self.p) { Verdict::Corrupt } else { Verdict::Pass }
    }
}

/// Random damage.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "corrupt",
    about: "Damages packets at random: they arrive, and the checksum fails.",
    source: "J-N4 (damage loss)",
    params: &[Param::ratio("p", 0.01, 0.0..=1.0, "probability for each packet"), Of::PARAM],
    build: |p| Box::new(CorruptAtRandom { p: p.ratio("p"), of: Of::named(p.choice("of")) }),
};
