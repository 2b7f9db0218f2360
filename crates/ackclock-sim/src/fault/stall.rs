use ackclock_policy::{Entry, Param};
use ackclock_units::{Duration, Instant, Rng};

use super::{Fault, Of, Passing, Verdict};

struct Stall {
    from: Instant,
    until: Instant,
    of: Of,
}

impl Fault for Stall {
    fn verdict(&mut self, packet: &Passing, now: Instant, _: &mut Rng) -> Verdict {
        let held = self.from <= now && now < self.until && self.of.includes(packet);
        if held { Verdict::Delay(self.until.since(now)) } else { Verdict::Pass }
    }
}

const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// A delay spike.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "stall",
    about: "Holds packets back during a window of time and lets them go, in order, when it is over: a delay \
            spike without loss.",
    source: "E-X3 (delay spike)",
    params: &[
        Param::duration(
            "from",
            Duration::ZERO,
            Duration::ZERO..=LONGEST,
            "when it begins, in time since the run began",
        ),
        Param::duration("until", Duration::from_secs(1), Duration::ZERO..=LONGEST, "when it is over"),
        Of::PARAM,
    ],
    build: |p| {
        Box::new(Stall {
            from: Instant::ZERO + p.duration("from"),
            until: Instant::ZERO + p.duration("until"),
            of: Of::named(p.choice("of")),
        })
    },
};
