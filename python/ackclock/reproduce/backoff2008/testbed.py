"""The testbed of the paper (B-A8) as a scenario, which most of its items share."""

from __future__ import annotations

from typing import Any

import ackclock as ac
from ackclock.scenario import Workload

RTT = ac.Uniform("10ms", "200ms")
MEAN_RTT = 0.105
"""Seconds: the round-trip time that the queue is measured by (B-A8)."""
OFFERED_MBIT = 12.0
"""Payload offered, Mbit/s, whatever the bottleneck: the middle of the 10 to 15 that the paper reports at 50
Mbit/s (B-A7).
"""
FULL = {"I": 300, "II": 400, "III": 1200}
"""Seconds of arrivals with --full, by trace. An overload lengthens its queue of flows, and so the work of a
second, as long as it lasts.
"""
SEEDS = 4
"""Runs of each scenario, with seeds 1, 2 and so on."""

TCP, STAR, NONE = "TCP", "TCP*(3)", "TCP*(inf)"
BACKOFFS: dict[str, Any] = {
    TCP: ac.backoff.Exponential(r2_retries="inf"),
    STAR: ac.SubExponential(n=3, r2_retries="inf"),
    NONE: ac.backoff.None_(r2_retries="inf"),
}
"""The backoffs that the paper compares. None gives up, so that every flow has a response time."""

CHOICES = {
    "flow sizes": "bounded Pareto, shape 1.2, mean 7 kB, up to 2 GB, of which the trace is made (B-A7)",
    "arrivals": f"Poisson, one connection for each transfer; {OFFERED_MBIT:g} Mbit/s of payload offered",
    "round-trip times": "uniform between 10 and 200 ms, drawn for each flow",
    "queue": "2 bandwidth-delay products of the mean round-trip time, 105 ms, both ways",
    "RED": "thresholds at 1/6 and 1/2 of the queue, max_p 0.1, gentle, w_q 0.002, averaging bytes",
    "packets": "segments of 1460 bytes, requests of 300 bytes, an initial window of three segments (RFC "
    "5681) that grows by acks, not by bytes",
    "backoff counter": "reset by a new acknowledgment, as FreeBSD with timestamps does; no samples of "
    "segments sent twice; SYNs likewise",
    "giving up": "never, so that every flow has a response time: up to 255 SYN retransmissions, any number "
    "of others",
    "random numbers": f"seeds 1 to {SEEDS}; figures show all runs together and 95 % confidence bands from "
    "the spread between them",
    "numbers checked": "means over the runs of each run's mean and 99th percentile",
}


def times(seconds: dict[str, int], full: dict[str, int] = FULL, part: float = 1.0) -> str:
    """How long arrivals last in the quick form and in the full one, for the choices of an item. part: of
    those seconds.
    """
    quick = "; ".join(
        f"Trace-{trace}: arrivals for {part * s:g} s ({part * full[trace]:g} s with --full)"
        for trace, s in seconds.items()
    )
    return f"{quick}; then as long as the last flows need"


def bdp(mbit: float) -> float:
    """Bytes of the bandwidth-delay product of the mean round-trip time at so many Mbit/s."""
    return mbit * 1e6 / 8 * MEAN_RTT


def link(mbit: float, queue: str = "red") -> ac.Link:
    """The bottleneck: so many Mbit/s, a queue of two bandwidth-delay products, `red` or `drop-tail`."""
    if queue == "drop-tail":
        return ac.Link(f"{mbit:g}Mbit/s", queue=ac.queue.DropTail(limit=f"{2 * bdp(mbit):.0f}B"))
    red = ac.queue.Red(
        limit=f"{2 * bdp(mbit):.0f}B", min_th=f"{bdp(mbit) / 3:.0f}B", max_th=f"{bdp(mbit):.0f}B"
    )
    return ac.Link(f"{mbit:g}Mbit/s", queue=red)


def dumbbell(mbit: float, queue: str = "red") -> ac.Dumbbell:
    """The dumbbell with a bottleneck of so many Mbit/s."""
    return ac.Dumbbell(bottleneck=link(mbit, queue), rtt=RTT)


def web(trace: str, mbit: float, **more: Any) -> Workload:
    """Arrivals that offer `OFFERED_MBIT`, whatever the bottleneck's rate."""
    return ac.Web(trace=trace, load=OFFERED_MBIT / mbit, **more)


def stacks(min_rto: str, *labels: str, preset: str = "sack") -> dict[str, ac.Stack]:
    """The stacks of those labels, by default TCP, TCP*(3) and TCP*(inf), with an initial timeout of 3 s."""
    tcp = ac.Stack(
        f"{preset}+per-ack",
        timer=ac.Rfc6298(min_rto=min_rto, initial_rto="3s"),
        syn_retries=255,
        karn_backoff=False,
    )
    return {label: tcp.but(backoff=BACKOFFS[label]) for label in labels or BACKOFFS}


FREEBSD = {
    "packets": "segments of 1448 bytes with timestamps, requests of 300 bytes, an initial window of three "
    "segments (RFC 3390) that grows by acks, not by bytes; delayed acks of 100 ms: FreeBSD 6.1's defaults",
    "backoff counter": "a valid sample ends the backoff, and with timestamps, FreeBSD's default, every new "
    "acknowledgment brings one, of segments sent twice as well; SYNs likewise",
}
"""What `freebsd` has in place of other choices."""


ON_FREEBSD = {**CHOICES, **FREEBSD}
"""What the items that the paper measured on its testbed, or that are run in its image, leave unstated."""


def freebsd(min_rto: str, *labels: str, preset: str = "sack") -> dict[str, ac.Stack]:
    """The same stacks with the defaults of FreeBSD 6.1, which the testbed ran: timestamps and delayed acks of
    100 ms.
    """
    more = {"timestamps": True, "mss": "1448B", "ack": ac.Delayed(ack_delay="100ms")}
    return {label: stack.but(**more) for label, stack in stacks(min_rto, *labels, preset=preset).items()}


def scenario(
    path: Any, workload: Any, stacks: dict[str, ac.Stack], seconds: float, **more: Any
) -> ac.Scenario:
    """Arrivals for so many seconds with `SEEDS` seeds, and then the time that the last flows need."""
    options = {
        "seed": 1,
        "repeat": SEEDS,
        "duration": f"{seconds:g}s",
        "drain": f"{max(4 * seconds, 2000):g}s",
    } | more
    return ac.Scenario.of(path, workload, stacks, **options)
