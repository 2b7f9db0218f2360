use ackclock_policy::{Entry, Param};
use ackclock_units::{Duration, Instant, Rate, Rng};

use super::{AppliesTo, Fault, FaultVerdict, PacketInfo};

struct Reorder {
    p: f64,
    delay: Duration,
    distance: u64,
    link_rate: Rate,
    of: AppliesTo,
}

impl Fault for Reorder {
    fn verdict(&mut self, packet: &PacketInfo, _: Instant, rng: &mut Rng) -> FaultVerdict {
        if !self.of.includes(packet) || !rng.chance(self.p) {
            return FaultVerdict::Pass;
        }
        // The transmission time of `distance` packets of its size and a half, so that it arrives between two
        // that follow back to back.
        let steps = match self.distance {
            0 => Duration::ZERO,
            n => self.link_rate.time_to_send(packet.bytes.into()).mul_f64(n as f64 + 0.5),
        };
        FaultVerdict::Delay(self.delay + steps)
    }
}

/// Packets that are overtaken.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "reorder",
    about: "Delays packets at random, so that later ones overtake them: by a time, by a distance in packets, \
            or both.",
    source: "reordering in Mathis, Semke, Mahdavi & Ott 1997 (M-X14)",
    params: &[
        Param::ratio("p", 0.01, 0.0..=1.0, "probability for each packet"),
        Param::duration("delay", Duration::ZERO, Duration::ZERO..=Duration::from_secs(3600), "extra delay"),
        Param::count(
            "distance",
            3,
            0..=1_000_000,
            "packets of its size that overtake it when they follow back to back; 0 to use `delay` alone",
        ),
        Param::rate(
            "link_rate",
            Rate::from_bits_per_sec(10_000_000),
            Rate::from_bits_per_sec(1)..=Rate::from_bits_per_sec(1_000_000_000_000_000),
            "rate of the link, for `distance`; a scenario fills it in",
        ),
        AppliesTo::PARAM,
    ],
    build: |p| {
        Box::new(Reorder {
            p: p.ratio("p"),
            delay: p.duration("delay"),
            distance: p.count("distance"),
            link_rate: p.rate("link_rate"),
            of: AppliesTo::named(p.choice("of")),
        })
    },
};
