use ackclock_policy::{Entry, Param};
use ackclock_units::{Duration, Instant, Rng};

use super::{AppliesTo, Fault, FaultVerdict, PacketInfo};

struct Detour {
    from: Instant,
    until: Instant,
    extra: Duration,
    of: AppliesTo,
}

impl Fault for Detour {
    fn verdict(&mut self, packet: &PacketInfo, now: Instant, _: &mut Rng) -> FaultVerdict {
        let longer = self.from <= now && now < self.until && self.of.includes(packet);
        if longer { FaultVerdict::Delay(self.extra) } else { FaultVerdict::Pass }
    }
}

const LONGEST: Duration = Duration::from_secs(1_000_000_000);
const DAY: Duration = Duration::from_secs(86_400);

/// A change of route.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "detour",
    about: "Sends packets a longer way from a moment on: a change of route. On the way back to the short \
            one, later packets overtake.",
    source: "changes of route, asked beyond Mondal & Kuzmanovic 2008 (B-S1)",
    params: &[
        Param::duration(
            "from",
            Duration::ZERO,
            Duration::ZERO..=LONGEST,
            "when the route changes, in time since the run began",
        ),
        Param::duration(
            "until",
            LONGEST,
            Duration::ZERO..=LONGEST,
            "when it changes back; by default it does not",
        ),
        Param::duration(
            "extra",
            Duration::from_secs(1),
            Duration::ZERO..=DAY,
            "how much longer packets travel meanwhile",
        ),
        AppliesTo::PARAM,
    ],
    build: |p| {
        let (from, until) = (Instant::ZERO + p.duration("from"), Instant::ZERO + p.duration("until"));
        Box::new(Detour { from, until, extra: p.duration("extra"), of: AppliesTo::named(p.choice("of")) })
    },
};
