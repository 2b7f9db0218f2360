use ackclock_policy::{Entry, Param};
use ackclock_units::{Instant, Rng};

use super::{AppliesTo, Fault, FaultVerdict, PacketInfo};

struct GilbertElliott {
    p: f64,
    r: f64,
    h: f64,
    k: f64,
    of: AppliesTo,
    bad: bool,
}

impl Fault for GilbertElliott {
    fn verdict(&mut self, packet: &PacketInfo, _: Instant, rng: &mut Rng) -> FaultVerdict {
        if !self.of.includes(packet) {
            return FaultVerdict::Pass;
        }
        let (delivers, changes) = if self.bad { (self.h, self.r) } else { (self.k, self.p) };
        // Each packet draws twice, so that a change of `h` or `k` leaves the states as they are.
        let lost = rng.unit() >= delivers;
        self.bad ^= rng.unit() < changes;
        if lost { FaultVerdict::Drop } else { FaultVerdict::Pass }
    }
}

/// Two states.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "gilbert-elliott",
    about: "Loses packets in bursts: a good and a bad state with a probability of delivery each, which \
            change at random from packet to packet. It begins in the good state; the share of the bad one \
            is p / (p + r).",
    source: "Gilbert 1960, Elliott 1963; Salsano et al. 2012, Definition of a general and intuitive loss \
             model for packet networks, section 4.3; `loss gemodel` of tc-netem(8)",
    params: &[
        Param::ratio("p", 0.01, 0.0..=1.0, "probability of a change from good to bad after each packet"),
        Param::ratio(
            "r",
            0.25,
            0.0..=1.0,
            "probability of a change from bad to good; bursts take 1 / r packets",
        ),
        Param::ratio(
            "h",
            0.0,
            0.0..=1.0,
            "probability of delivery in the bad state; 0 is Gilbert's simple model",
        ),
        Param::ratio("k", 1.0, 0.0..=1.0, "probability of delivery in the good state"),
        AppliesTo::PARAM,
    ],
    build: |p| {
        Box::new(GilbertElliott {
            p: p.ratio("p"),
            r: p.ratio("r"),
            h: p.ratio("h"),
            k: p.ratio("k"),
            of: AppliesTo::named(p.choice("of")),
            bad: false,
        })
    },
};
