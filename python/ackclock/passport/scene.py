"""The scenes of the criteria: paths, and the flows over them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ackclock.scenario.tree import Tree, table

TESTED = "tested"
"""The label of the flows under test, and of their stack."""
RATE, RTT = "20Mbit/s", "40ms"
"""The path where a criterion names no other: its bandwidth-delay product (bdp) is 67 packets."""


@dataclass(frozen=True)
class Scene:
    """One scene of a criterion: all but the stacks of its flows."""

    where: str
    """What tells it from the other scenes of its criterion, in a few words."""
    path: Tree
    workloads: tuple[Tree, ...]
    duration: float
    """Seconds that are simulated, the warm-up included."""
    warmup: float
    """Seconds before the numbers count."""
    steady: bool = True
    """Whether it may be lengthened; false where something happens at a fixed time."""
    drain: float = 0.0
    """Further seconds in which flows may finish."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Parts and options of every stack in it."""
    tested: Mapping[str, Any] = field(default_factory=dict)
    """Parts and options of the stack under test alone, where the user has not chosen others."""
    without: Mapping[str, Any] | None = None
    """Where a second run has these in the place of `tested`: the number is then that of the first run over
    that of the second one.
    """
    series: float = 0.0
    """Seconds of an interval of the tables over time, with which sojourn times are measured; 0 for none."""

    def stacks(self) -> set[str]:
        """The labels of the stacks of its flows."""
        return {w["stack"] for w in self.workloads if "stack" in w}


def over(
    where: str,
    *workloads: Tree,
    rate: str = RATE,
    rtt: str | Sequence[str] = RTT,
    buffer: str = "2bdp",
    queue: Tree | None = None,
    faults: Sequence[Tree] | Tree | None = None,
    elements: Tree | None = None,
    duration: float = 20.0,
    warmup: float = 5.0,
    **more: Any,
) -> Scene:
    """A scene over one bottleneck. buffer: of its drop-tail queue; queue: another queue in its place;
    elements: of the link, by their kinds.
    """
    link = {"rate": rate, "queue": queue or {"kind": "drop-tail", "limit": buffer}, **(elements or {})}
    path = {
        "kind": "dumbbell",
        "rtt": rtt,
        "bottleneck": {**link, **table(faults=faults)},
        "back": {"rate": rate, "queue": {"kind": "drop-tail", "limit": "1000packets"}},
    }
    return Scene(where, path, workloads, duration, warmup, **more)


def jittered(
    where: str, faults: Tree | None, *workloads: Tree, rate: str | None = None, random: str | None = None
) -> Scene:
    """A scene with a link for each of the nodes `a` and `b` in front of the bottleneck. faults, rate: of that
    of `a`, where the jitter is; random: the most that it adds to each packet, 0 at least.
    """
    jitter = table(delay="1ms", rate=rate, faults=faults)
    if random:
        jitter["jitter"] = _uniform(random)
    if rate:
        jitter["queue"] = {"kind": "drop-tail", "limit": "100000packets"}
    bottleneck = {"rate": RATE, "delay": "18ms", "queue": {"kind": "drop-tail", "limit": "134packets"}}
    edges = [
        {"from": "a", "to": "g", "back": {"delay": "1ms"}, **jitter},
        {"from": "b", "to": "g", "delay": "1ms"},
        {"from": "g", "to": "r", "name": "bottleneck", **bottleneck},
        {"from": "r", "to": "d", "delay": "1ms"},
    ]
    return Scene(where, {"kind": "graph", "edges": edges, "rtt": "links"}, workloads, 25.0, 5.0)


def bulk(stack: str = TESTED, flows: int = 1, **more: Any) -> Tree:
    """Flows that always have data to send."""
    return {"kind": "bulk", "name": stack, "stack": stack, "flows": flows, "spread": "100ms", **more}


def short(stack: str, load: float, size: str = "30kB", name: str = "short") -> Tree:
    """Short flows at random intervals, so many that they offer `load` of the link."""
    sizes = {"kind": "fixed", "bytes": size}
    return {"kind": "web", "name": name, "stack": stack, "trace": "II", "load": load, "sizes": sizes}


def stream(rate: str, size: str = "200B", **more: Any) -> Tree:
    """Datagrams at a constant rate, with no congestion control."""
    return {"kind": "udp", "name": "stream", "rate": rate, "bytes": size, **more}


def bursts(rate: str, on: str, off: str, **more: Any) -> Tree:
    """Datagrams in bursts of equal length at equal intervals."""
    times = {"on": on, "off": off, "periods": "constant"}
    return {"kind": "udp-on-off", "name": "stream", "rate": rate, "bytes": "1000B", **times, **more}


def loss(p: float) -> Tree:
    """Random loss."""
    return {"kind": "loss", "p": p}


def burst_loss(p: float, packets: int) -> Tree:
    """The same share lost in bursts of so many packets on average: Gilbert's model."""
    return {"kind": "gilbert-elliott", "p": p / (1 - p) / packets, "r": 1 / packets}


def outage(begin: float, end: float, p: float = 1.0) -> Tree:
    """Loss of everything, or of a share, for a while."""
    return {"kind": "outage", "from": f"{begin:g}s", "until": f"{end:g}s", "p": p}


def detour(extra: str, begin: str = "0s", end: str | None = None) -> Tree:
    """A longer way for a while, or for good."""
    return table(kind="detour", extra=extra, until=end) | {"from": begin}


def red(ecn: bool) -> Tree:
    """RED with thresholds of about a quarter and three quarters of a bdp."""
    return {
        "kind": "red",
        "limit": "200packets",
        "min_th": "15packets",
        "max_th": "45packets",
        "ecn": ecn,
    }


def steps(*points: Tree, repeat: str | None = None) -> Tree:
    """A link whose rate or delay changes at once, at the times of the points."""
    return {"schedule": table(points=list(points), repeat=repeat)}


def policer(rate: str, burst: str) -> Tree:
    """A token bucket that drops what exceeds its rate."""
    return {"policer": {"rate": rate, "burst": burst}}


def codel(ecn: bool) -> Tree:
    """CoDel with the parameters of RFC 8289."""
    return {"kind": "codel", "ecn": ecn}


def fq_codel() -> Tree:
    """FlowQueue-CoDel with the parameters of RFC 8290."""
    return {"kind": "fq-codel"}


def pie() -> Tree:
    """PIE with the parameters of RFC 8033."""
    return {"kind": "pie"}


def dualpi2() -> Tree:
    """The coupled queues of RFC 9332, one of them for L4S."""
    return {"kind": "dualpi2"}


def _uniform(most: str) -> Tree:
    # Standard deviation of a uniform distribution: its width over the root of 12.
    micros = 1000 * float(most.removesuffix("ms"))
    return {
        "distribution": "uniform",
        "mean": f"{micros / 2:.0f}us",
        "deviation": f"{micros / math.sqrt(12):.1f}us",
    }


def unphased() -> Tree:
    """Random delays of up to the time that a packet takes at `RATE`. Without them the phases in which packets
    arrive at a full queue decide which flow's are dropped (Floyd & Jacobson 1992).
    """
    return {"jitter": _uniform("0.6ms")}


def words(quantity: str) -> str:
    """`2bdp` as `2 bdp`."""
    number = quantity.rstrip("abcdefghijklmnopqrstuvwxyz")
    return f"{number} {quantity[len(number) :]}"
