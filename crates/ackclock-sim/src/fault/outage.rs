use ackclock_policy::{Entry, Param};
use ackclock_units::{Duration, Instant, Rng};

use super::{AppliesTo, Fault, FaultVerdict, PacketInfo};

struct Outage {
    from: Instant,
    until: Instant,
    p: f64,
    of: AppliesTo,
}

impl Fault for Outage {
    fn verdict(&mut self, packet: &PacketInfo, now: Instant, rng: &mut Rng) -> FaultVerdict {
        let struck = self.from <= now && now < self.until && self.of.includes(packet) && rng.chance(self.p);
        if struck { FaultVerdict::Drop } else { FaultVerdict::Pass }
    }
}

const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// A window of time.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "outage",
    about: "Loses packets during a window of time: all of them, or a share.",
    source: "outages in Mathis, Semke, Mahdavi & Ott 1997 (M-X14)",
    params: &[
        Param::duration(
            "from",
            Duration::ZERO,
            Duration::ZERO..=LONGEST,
            "when it begins, in time since the run began",
        ),
        Param::duration("until", Duration::from_secs(1), Duration::ZERO..=LONGEST, "when it is over"),
        Param::ratio("p", 1.0, 0.0..=1.0, "probability of loss for each packet meanwhile"),
        AppliesTo::PARAM,
    ],
    build: |p| {
        let (from, until) = (Instant::ZERO + p.duration("from"), Instant::ZERO + p.duration("until"));
        Box::new(Outage { from, until, p: p.ratio("p"), of: AppliesTo::named(p.choice("of")) })
    },
};
