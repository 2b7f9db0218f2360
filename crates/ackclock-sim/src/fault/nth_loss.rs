use ackclock_policy::{Entry, Param};
use ackclock_units::{Instant, Rng};

use super::{Fault, Of, Passing, Verdict};

struct NthLoss {
    number: u64,
    /// `None` for packets of any flow, counted together.
    flow: Option<u32>,
    of: Of,
    seen: u64,
}

impl Fault for NthLoss {
    fn verdict(&mut self, packet: &Passing, _: Instant, _: &mut Rng) -> Verdict {
        if !self.of.includes(packet) || self.flow.is_some_and(|f| f != packet.flow) {
            return Verdict::Pass;
        }
        self.seen += 1;
        if self.seen == self.number { Verdict::Drop } else { Verdict::Pass }
    }
}

/// One packet by its number.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "nth-loss",
    about: "Loses one packet, named by its number; a list of numbers in a scenario makes one fault of each.",
    source: "fixed-pattern loss of tests (M-A10, I-X2, I-X5)",
    params: &[
        Param::count("number", 1, 1..=1 << 50, "which packet, counted from 1, retransmissions included"),
        Param::count(
            "flow",
            u64::MAX,
            0..=u64::MAX,
            "count the packets of this flow alone; inf for all that pass",
        ),
        Of::PARAM,
    ],
    build: |p| {
        let flow = u32::try_from(p.count("flow")).ok();
        Box::new(NthLoss { number: p.count("number"), flow, of: Of::named(p.choice("of")), seen: 0 })
    },
};
