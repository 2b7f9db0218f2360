use ackclock_policy::{Entry, Param};
use ackclock_units::{Instant, Rng};

use super::{AppliesTo, Fault, FaultVerdict, PacketInfo};

struct DuplicateAtRandom {
    p: f64,
    of: AppliesTo,
}

impl Fault for DuplicateAtRandom {
    fn verdict(&mut self, packet: &PacketInfo, _: Instant, rng: &mut Rng) -> FaultVerdict {
        // Only packets that it looks at draw, so that acks do not change which data is struck.
        if self.of.includes(packet) && rng.chance(self.p) {
            FaultVerdict::Duplicate
        } else {
            FaultVerdict::Pass
        }
    }
}

/// Random duplication.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "duplicate",
    about: "Delivers packets twice at random.",
    source: "superfluous acks in Mathis, Semke, Mahdavi & Ott 1997 (M-A11)",
    params: &[Param::ratio("p", 0.01, 0.0..=1.0, "probability for each packet"), AppliesTo::PARAM],
    build: |p| Box::new(DuplicateAtRandom { p: p.ratio("p"), of: AppliesTo::named(p.choice("of")) }),
};
