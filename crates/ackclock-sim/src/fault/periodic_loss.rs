use ackclock_policy::{Entry, Param};
use ackclock_units::{Instant, Rng};

use super::{AppliesTo, Fault, FaultVerdict, PacketInfo};

struct PeriodicLoss {
    every: u64,
    /// Packets before the next loss.
    left: u64,
    of: AppliesTo,
}

impl Fault for PeriodicLoss {
    fn verdict(&mut self, packet: &PacketInfo, _: Instant, _: &mut Rng) -> FaultVerdict {
        if !self.of.includes(packet) {
            return FaultVerdict::Pass;
        }
        if self.left > 0 {
            self.left -= 1;
            return FaultVerdict::Pass;
        }
        self.left = self.every - 1;
        FaultVerdict::Drop
    }
}

/// Every k-th packet.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "periodic-loss",
    about: "Loses every k-th packet.",
    source: "periodic loss in Mathis, Semke, Mahdavi & Ott 1997 (M-F1, M-T1a)",
    params: &[
        Param::count("every", 100, 1..=1 << 50, "one of this many is lost"),
        Param::count(
            "first",
            0,
            0..=1 << 50,
            "number of the first packet lost, counted from 1; 0 for that of `every`",
        ),
        AppliesTo::PARAM,
    ],
    build: |p| {
        let (every, first) = (p.count("every"), p.count("first"));
        let left = if first == 0 { every - 1 } else { first - 1 };
        Box::new(PeriodicLoss { every, left, of: AppliesTo::named(p.choice("of")) })
    },
};
