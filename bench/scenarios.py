"""The benchmark scenarios: paths, loads, durations and targets."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from programs import WORK

MIN_RTT_MS, MAX_RTT_MS = 10, 200
WIRE_BYTES = 1040  # a 1000-byte segment with IP and TCP headers


@dataclass(frozen=True)
class Scenario:
    """One row of the table: a path, a load, how long each simulator runs it (simulated seconds), and what is
    to be reached.
    """

    name: str
    flows: int  # 0: the web run
    rate: float  # bit/s
    seconds: float
    ns3_seconds: float  # ns-3 is slower by orders of magnitude; 0: not run
    target_ns: float | None = None  # per data packet; per connection in the web run
    ns2_ratio: float | None = None
    ns3_ratio: float | None = None
    classes: int | None = None  # different round-trip times, if not 20; the peers are not run then
    control: str | None = None  # congestion window, if not NewReno's; the peers are not run then
    beside: tuple[str, float] | None = None  # another row, and how many times its cost is allowed
    discipline: str | None = None  # the bottleneck's queue, if not drop-tail; the peers are not run then

    @property
    def web(self) -> bool:
        """True for the run of short connections."""
        return self.flows == 0

    @property
    def queue(self) -> int:
        """One bandwidth-delay product at the mean round-trip time, in packets."""
        return round(self.rate * (MIN_RTT_MS + MAX_RTT_MS) / 2000 / 8 / WIRE_BYTES)

    @property
    def window(self) -> int:
        """Socket buffers, bytes: never the limit in the long run, and not so large that the peers are slowed
        by filling them.
        """
        if self.web:
            return 262_144
        return max(262_144, round(6 * self.queue * WIRE_BYTES / self.flows))

    def arguments(self, seconds: float, flows: int | None = None, window: int | None = None) -> list[str]:
        """The seven arguments common to all simulators, and three for ackclock."""
        first = str(WORK / "arrivals.txt") if self.web else str(self.flows if flows is None else flows)
        rest = [
            f"{self.rate:.0f}",
            f"{seconds:g}",
            str(self.queue),
            str(window or self.window),
            str(MIN_RTT_MS),
            str(MAX_RTT_MS),
        ]
        own = [str(self.classes or 20)] if self.classes or self.control else []
        words = [self.control] if self.control else []
        return [first, *rest, *own, *words] + ([f"queue={self.discipline}"] if self.discipline else [])


SCENARIOS = [
    Scenario("1 flow, 100 Mbit/s", 1, 100e6, 120, 8),
    Scenario("10 flows, 100 Mbit/s", 10, 100e6, 120, 8, target_ns=400, ns2_ratio=3.5, ns3_ratio=80),
    Scenario("100 flows, 100 Mbit/s", 100, 100e6, 120, 8, target_ns=400, ns2_ratio=3.5, ns3_ratio=80),
    Scenario(
        "100 flows, codel",
        100,
        100e6,
        120,
        0,
        discipline="codel",
        beside=("100 flows, 100 Mbit/s", 1.3),
    ),
    Scenario(
        "100 flows, fq-codel",
        100,
        100e6,
        120,
        0,
        discipline="fq-codel",
        beside=("100 flows, 100 Mbit/s", 1.6),
    ),
    Scenario("1000 flows, 1 Gbit/s", 1000, 1e9, 10, 1.2, target_ns=600),
    Scenario("1000, all delays different", 1000, 1e9, 10, 0, classes=1000),
    Scenario("10 flows, CUBIC", 10, 100e6, 120, 0, control="cubic"),
    Scenario(
        "10 flows, CUBIC, paced", 10, 100e6, 120, 0, control="cubic+paced", beside=("10 flows, CUBIC", 1.35)
    ),
    Scenario("10 flows, BBR", 10, 100e6, 120, 0, control="bbr"),
    Scenario("1000 flows, CUBIC", 1000, 1e9, 10, 0, control="cubic"),
    Scenario("1000 flows, CUBIC, paced", 1000, 1e9, 10, 0, control="cubic+paced"),
    Scenario("1000 flows, BBR", 1000, 1e9, 10, 0, control="bbr"),
    Scenario("10,000 flows, 10 Gbit/s", 10_000, 10e9, 2, 0, target_ns=900),
    Scenario("web, 10 Mbit/s, 120 %", 0, 10e6, 100, 25, target_ns=15_000),
]


def write_arrivals(path: Path, seconds: float) -> None:
    """Poisson arrivals of bounded Pareto sizes (1.2, 1237.61 bytes to 2 GB: mean 7000) at 120 % of 10 Mbit/s;
    every simulator reads the same.
    """
    rng = random.Random(1)
    low, high, shape = 1237.61, 2e9, 1.2
    now = 0.0
    with path.open("w") as out:
        while True:
            now += rng.expovariate(1.2 * 10e6 / 8 / 7000)
            if now > seconds:
                return
            size = low * (1 - rng.random() * (1 - (low / high) ** shape)) ** (-1 / shape)
            out.write(f"{now:.9f} {round(size)} {rng.randrange(20)}\n")
