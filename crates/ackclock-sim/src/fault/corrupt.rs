use ackclock_policy::{Entry, Param};
use ackclock_units::{Instant, Rng};

use super::{AppliesTo, Fault, FaultVerdict, PacketInfo};

struct CorruptAtRandom {
    p: f64,
    of: AppliesTo,
}

impl Fault for CorruptAtRandom {
    fn verdict(&mut self, packet: &PacketInfo, _: Instant, rng: &mut Rng) -> FaultVerdict {
        // Only packets that it looks at draw, so that acks do not change which data is struck.
        if self.of.includes(packet) && rng.chance(self.p) {
            FaultVerdict::Corrupt
        } else {
            FaultVerdict::Pass
        }
    }
}

/// Random damage.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "corrupt",
    about: "Damages packets at random: they arrive, and the checksum fails.",
    source: "damaged packets in Jacobson & Karels 1988 (J-N4)",
    params: &[Param::ratio("p", 0.01, 0.0..=1.0, "probability for each packet"), AppliesTo::PARAM],
    build: |p| Box::new(CorruptAtRandom { p: p.ratio("p"), of: AppliesTo::named(p.choice("of")) }),
};
