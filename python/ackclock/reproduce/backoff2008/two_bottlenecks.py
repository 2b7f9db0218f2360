"""The topology with two bottlenecks (B-F7) and the load on it (B-F9)."""

from __future__ import annotations

from typing import Any

import ackclock as ac
from ackclock.reproduce.backoff2008 import testbed
from ackclock.scenario import Edge, Workload

BOTTLENECK, OTHERS = 10, 50
"""Mbit/s."""
SHARE = 0.25
"""L0/(L0 + L1): the part of the load at a bottleneck that crosses both (B-F9)."""
FAR, NEAR, LAST = "S0-C0", "S1-C1", "S2-C2"
"""Workloads: over both bottlenecks, over the first, over the second."""
ENDS = (("S0", "R1"), ("S1", "R1"), ("R2", "C1"), ("R2", "R3"), ("S2", "R3"), ("R4", "C2"), ("R4", "C0"))
FIRST, SECOND = "R1-R2", "R3-R4"

CHOICES = {
    **testbed.ON_FREEBSD,
    "load": f"{testbed.OFFERED_MBIT:g} Mbit/s of payload at each bottleneck, a quarter of it over both "
    "(S0-C0), the rest over one (S1-C1, S2-C2)",
    "queue": "RED of two bandwidth-delay products at 10 Mbit/s before the bottlenecks, drop-tail of two at "
    "50 Mbit/s elsewhere, both ways",
    "round-trip times": "uniform between 10 and 200 ms for each flow, whichever way it takes; links have "
    "no delay of their own",
}


def path(first: float = BOTTLENECK, second: float = BOTTLENECK) -> ac.Graph:
    """The network, with so many Mbit/s on R1-R2 and R3-R4."""
    edges = [Edge("R1", "R2", testbed.link(first), FIRST), Edge("R3", "R4", testbed.link(second), SECOND)]
    edges += [Edge(start, end, testbed.link(OTHERS, "drop-tail"), f"{start}-{end}") for start, end in ENDS]
    return ac.Graph(edges, rtt=testbed.RTT)


def workloads(trace: str) -> list[Workload]:
    """Web flows over both bottlenecks, and over each."""
    ways = {FAR: ("S0", "C0", SHARE), NEAR: ("S1", "C1", 1 - SHARE), LAST: ("S2", "C2", 1 - SHARE)}
    return [_web(trace, name, server, client, share) for name, (server, client, share) in ways.items()]


def _web(trace: str, name: str, server: str, client: str, share: float) -> Workload:
    rate = share * testbed.OFFERED_MBIT * 1e6 / 8 / MEANS[trace]
    return ac.Web(name=name, trace=trace, arrival_rate=rate, server=server, client=client)


MEANS: dict[str, float] = {"I": 3351.19, "II": 7000.0, "III": 88260.6}
"""Mean sizes of the traces (B-A7), bytes: the load is one at the testbed's bottleneck, whatever the slowest
link on the way is.
"""


def scenario(
    trace: str, seconds: float, *, first: float = BOTTLENECK, second: float = BOTTLENECK, **more: Any
) -> ac.Scenario:
    """TCP and TCP*(inf) over it."""
    stacks = testbed.freebsd("200ms", testbed.TCP, testbed.NONE)
    return testbed.scenario(path(first, second), workloads(trace), stacks, seconds, **more)
