use ackclock_policy::{Entry, Param};
use ackclock_units::{Bytes, Instant, Rng};

use super::{Fault, FaultVerdict, PacketInfo, PacketKind};

struct SegmentLoss {
    offset: Bytes,
    flow: u32,
    left: u64,
}

impl Fault for SegmentLoss {
    fn verdict(&mut self, p: &PacketInfo, _: Instant, _: &mut Rng) -> FaultVerdict {
        let holds = p.kind == PacketKind::Data
            && p.flow == self.flow
            && (p.offset..p.offset + Bytes::from(p.payload)).contains(&self.offset);
        if !holds || self.left == 0 {
            return FaultVerdict::Pass;
        }
        self.left -= 1;
        FaultVerdict::Drop
    }
}

/// One segment by what it carries.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "segment-loss",
    about: "Loses the segment that carries a given byte of a flow's stream, and optionally its \
            retransmissions.",
    source: "scripted losses, also of retransmissions: Mondal & Kuzmanovic 2007 (I-A4), Mathis, Semke, \
             Mahdavi & Ott 1997 (M-A10)",
    params: &[
        Param::bytes("offset", 0, 0..=1 << 50, "position of the byte in the stream, from 0"),
        Param::count("flow", 0, 0..=u32::MAX as u64 - 1, "number of the flow"),
        Param::count("times", 1, 1..=u64::MAX, "how many transmissions of it are lost; inf for all"),
    ],
    build: |p| {
        Box::new(SegmentLoss {
            offset: p.bytes("offset"),
            flow: p.count("flow") as u32,
            left: p.count("times"),
        })
    },
};
