use ackclock_policy::{Entry, Param};
use ackclock_units::{Duration, Instant, Rng};

use super::{AppliesTo, Fault, FaultVerdict, PacketInfo};

struct Batch {
    every: Duration,
    packets: u64,
    limit: u64,
    of: AppliesTo,
    /// Number of the release that the latest packet goes with, and packets that go with it.
    release: u64,
    with_it: u64,
}

impl Fault for Batch {
    fn verdict(&mut self, packet: &PacketInfo, now: Instant, _: &mut Rng) -> FaultVerdict {
        if !self.of.includes(packet) {
            return FaultVerdict::Pass;
        }
        // Releases are at multiples of `every`; a packet that leaves at that moment still goes with it.
        let every = self.every.as_nanos();
        let next = now.as_nanos().div_ceil(every);
        let (release, with_it) = match self.release {
            latest if latest < next => (next, 1),
            latest if self.with_it < self.packets => (latest, self.with_it + 1),
            latest => (latest.saturating_add(1), 1),
        };
        // With all releases before that one full, more than the limit would be held.
        let full = (release - next).saturating_mul(self.packets).saturating_add(with_it);
        if full > self.limit {
            return FaultVerdict::Drop;
        }
        (self.release, self.with_it) = (release, with_it);
        let at = Instant::from_nanos(release.saturating_mul(every));
        FaultVerdict::Delay(at.since(now))
    }
}

/// Held back and released together.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "batch",
    about: "Holds packets back and releases them together, at a fixed interval and in order: acks that are \
            aggregated, or a medium as of Wi-Fi that is won for many packets at a time.",
    source: "`slot` of tc-netem(8), with a constant interval",
    params: &[
        Param::duration(
            "every",
            Duration::from_millis(5),
            Duration::from_micros(1)..=Duration::from_secs(3600),
            "interval between releases, counted from the beginning of the run",
        ),
        Param::count(
            "packets",
            u64::MAX,
            1..=u64::MAX,
            "most packets of a release; the others wait for the next one; inf for all",
        ),
        Param::count("limit", 1000, 1..=1_000_000, "most packets held; more are lost"),
        AppliesTo::PARAM,
    ],
    build: |p| {
        Box::new(Batch {
            every: p.duration("every"),
            packets: p.count("packets"),
            limit: p.count("limit"),
            of: AppliesTo::named(p.choice("of")),
            release: 0,
            with_it: 0,
        })
    },
};
