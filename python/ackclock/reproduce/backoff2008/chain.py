"""Flows over one, two or three bottlenecks in sequence, each of which carries flows of its own as well."""

from __future__ import annotations

from typing import Any

import ackclock as ac
from ackclock.reproduce.backoff2008 import testbed
from ackclock.reproduce.backoff2008 import two_bottlenecks as two
from ackclock.scenario import Edge, Workload

ACROSS = "across"
"""The flows over all bottlenecks."""
MBIT = 10.0
"""Of each bottleneck."""


def path(bottlenecks: int) -> ac.Graph:
    """R0 - R1 - ... with a bottleneck on each step, servers S and clients C on fast links."""
    edges = [Edge(f"R{i}", f"R{i + 1}", testbed.link(MBIT), f"R{i}-R{i + 1}") for i in range(bottlenecks)]
    ends = [("S", "R0"), (f"R{bottlenecks}", "C")]
    ends += [pair for i in range(bottlenecks) for pair in ((f"S{i}", f"R{i}"), (f"R{i + 1}", f"C{i}"))]
    edges += [Edge(a, b, testbed.link(two.OTHERS, "drop-tail"), f"{a}-{b}") for a, b in ends]
    return ac.Graph(edges, rtt=testbed.RTT)


def workloads(trace: str, load: float, bottlenecks: int) -> list[Workload]:
    """So much payload over the capacity at each bottleneck: with several, a quarter of it crosses all."""
    share = two.SHARE if bottlenecks > 1 else 1.0
    rate = load * MBIT * 1e6 / 8 / two.MEANS[trace]

    def web(name: str, part: float, **ends: str) -> Workload:
        return ac.Web(name=name, trace=trace, arrival_rate=part * rate, **ends)

    own = (
        [web(f"own{i}", 1 - share, server=f"S{i}", client=f"C{i}") for i in range(bottlenecks)]
        if share < 1
        else []
    )
    return [web(ACROSS, share, server="S", client="C"), *own]


def scenario(
    trace: str, load: float, bottlenecks: int, seconds: float, rest: float, **more: Any
) -> ac.Scenario:
    """TCP and TCP*(inf): arrivals for so many seconds, and then the rest for what is not done."""
    stacks = testbed.freebsd("200ms", testbed.TCP, testbed.NONE)
    return testbed.scenario(
        path(bottlenecks), workloads(trace, load, bottlenecks), stacks, seconds, drain=f"{rest:g}s", **more
    )
