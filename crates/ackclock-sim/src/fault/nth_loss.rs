use ackclock_policy::{Entry, Param};
use ackclock_units::{Instant, Rng};

use super::{AppliesTo, Fault, FaultVerdict, PacketInfo};

struct NthLoss {
    number: u64,
    /// `None` to count the packets of all flows together.
    flow: Option<u32>,
    of: AppliesTo,
    seen: u64,
}

impl Fault for NthLoss {
    fn verdict(&mut self, packet: &PacketInfo, _: Instant, _: &mut Rng) -> FaultVerdict {
        if !self.of.includes(packet) || self.flow.is_some_and(|f| f != packet.flow) {
            return FaultVerdict::Pass;
        }
        self.seen += 1;
        if self.seen == self.number { FaultVerdict::Drop } else { FaultVerdict::Pass }
    }
}

/// One packet by its number.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "nth-loss",
    about: "Loses one packet, named by its number; a list of numbers in a scenario makes one fault for each.",
    source: "fixed patterns of loss: Mathis, Semke, Mahdavi & Ott 1997 (M-A10), Mondal & Kuzmanovic 2007 \
             (I-X2, I-X5)",
    params: &[
        Param::count("number", 1, 1..=1 << 50, "which packet, counted from 1, retransmissions included"),
        Param::count(
            "flow",
            u64::MAX,
            0..=u64::MAX,
            "count the packets of this flow alone; inf for all that pass",
        ),
        AppliesTo::PARAM,
    ],
    build: |p| {
        let flow = u32::try_from(p.count("flow")).ok();
        Box::new(NthLoss { number: p.count("number"), flow, of: AppliesTo::named(p.choice("of")), seen: 0 })
    },
};
