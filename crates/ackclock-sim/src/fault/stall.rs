use ackclock_policy::{Entry, Param};
use ackclock_units::{Duration, Instant, Rng};

use super::{AppliesTo, Fault, FaultVerdict, PacketInfo};

struct Stall {
    from: Instant,
    until: Instant,
    of: AppliesTo,
}

impl Fault for Stall {
    fn verdict(&mut self, packet: &PacketInfo, now: Instant, _: &mut Rng) -> FaultVerdict {
        let held = self.from <= now && now < self.until && self.of.includes(packet);
        if held { FaultVerdict::Delay(self.until.since(now)) } else { FaultVerdict::Pass }
    }
}

const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// A delay spike.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "stall",
    about: "Holds packets back during a window of time and lets them go, in order, when it is over: a delay \
            spike without loss.",
    source: "delay spikes in Ludwig & Sklower 2000 (E-X3)",
    params: &[
        Param::duration(
            "from",
            Duration::ZERO,
            Duration::ZERO..=LONGEST,
            "when it begins, in time since the run began",
        ),
        Param::duration("until", Duration::from_secs(1), Duration::ZERO..=LONGEST, "when it is over"),
        AppliesTo::PARAM,
    ],
    build: |p| {
        Box::new(Stall {
            from: Instant::ZERO + p.duration("from"),
            until: Instant::ZERO + p.duration("until"),
            of: AppliesTo::named(p.choice("of")),
        })
    },
};
