use ackclock_policy::{Entry, Param};
use ackclock_units::{Instant, Rng};

use super::{AppliesTo, Fault, FaultVerdict, PacketInfo};

struct Loss {
    p: f64,
    of: AppliesTo,
}

impl Fault for Loss {
    fn verdict(&mut self, packet: &PacketInfo, _: Instant, rng: &mut Rng) -> FaultVerdict {
        // Only packets that it looks at draw, so that acks do not change which data is struck.
        if self.of.includes(packet) && rng.chance(self.p) { FaultVerdict::Drop } else { FaultVerdict::Pass }
    }
}

/// Random loss.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "loss",
    about: "Loses packets at random, each independently of the others.",
    source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A12); Mondal & Kuzmanovic 2007 (I-A10); Mondal & \
             Kuzmanovic 2008 (B-F8)",
    params: &[Param::ratio("p", 0.01, 0.0..=1.0, "probability for each packet"), AppliesTo::PARAM],
    build: |p| Box::new(Loss { p: p.ratio("p"), of: AppliesTo::named(p.choice("of")) }),
};
