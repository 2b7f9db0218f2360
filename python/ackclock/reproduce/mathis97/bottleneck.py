"""One connection over one bottleneck with a drop-tail queue (M-F2 b, M-F5), which several items share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import ackclock as ac
from ackclock.models import mathis97 as m
from ackclock.reproduce.item import Setting
from ackclock.reproduce.mathis97 import steady, stock

PACKET = 1024
"""MSS, bytes (M-F5): packets of so many on the wire, as simulators count them."""
RTT = 0.06
QUEUES = (5, 10, 20, 30)
RATES = (10e3, 20e3, 30e3, 40e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6, 5e6, 10e6)
"""bit/s."""
DELAYED = 0.1
"""Seconds for which an ack is delayed at most: packets that take longer are acknowledged one by one
(M-A2).
"""
WARM, CYCLES = 10, 50
"""Cycles of the saw-tooth before counting, and while counting."""
TABLE_4 = (0.752, -0.524)
"""C and k of equation (5) for Reno with delayed acks (M-T4h)."""

CHOICES = {
    **stock.CHOICES,
    "bandwidths": ", ".join(f"{r / 1e3:g}" for r in RATES) + " kbit/s, both ways",
    "queues": ", ".join(map(str, QUEUES)) + " packets, the one in service not counted; acks are not dropped",
    "p": "packets lost over packets sent, as the paper has it for its simulations; CA events over "
    "acknowledged segments (`p_ca`) beside it in the tables",
    "duration": f"{CYCLES} cycles of the saw-tooth (500 with --full) after {WARM} that do not count, the "
    "initial slow-start among them",
}


def packet_time(rate: float) -> float:
    """Seconds that a packet takes on the line."""
    return 8 * PACKET / rate


def path(rate: float, queue: int) -> ac.Single:
    """The bottleneck, and a way back that drops nothing."""
    delay = f"{1e3 * RTT / 2:g}ms"
    link = ac.Link(f"{rate:.0f}bit/s", delay, queue=ac.DropTail(limit=f"{queue}packets"))
    return ac.Single(link, back=ac.Link(f"{rate:.0f}bit/s", delay, queue=ac.DropTail(limit="1000packets")))


def cycle(rate: float, queue: int) -> float:
    """Seconds that a cycle takes with delayed acks (M-E1): 3/4 W^2 packets at the line's rate."""
    return 0.75 * float(m.filled_window(queue + 1, RTT, packet_time(rate))) ** 2 * packet_time(rate)


def runs(
    setting: Setting,
    stacks: Mapping[str, ac.Stack],
    places: Iterable[tuple[float, int]],
    label: str,
    cycles: int | None = None,
) -> list[dict[str, Any]]:
    """A row for each bandwidth, queue and stack."""
    cycles = cycles or (10 * CYCLES if setting.full else CYCLES)
    jobs = {}
    for rate, queue in places:
        scenario = ac.Scenario.of(path(rate, queue), ac.Bulk(), dict(stacks))
        jobs[rate, queue] = (scenario, WARM * cycle(rate, queue), cycles * cycle(rate, queue))
    rows = []
    for (rate, queue), span in steady.each(setting, jobs, label).items():
        for stack in stacks:
            (c,) = span.of(stack)
            line = span.lines[stack, "link"]
            rows.append(
                {
                    "stack": stack,
                    "bandwidth": rate,
                    "queue": queue,
                    "ratio": RTT / packet_time(rate) / queue,
                    "packet_time": packet_time(rate),
                    "segments": c.segments,
                    "ca": c.ca,
                    "timeouts": c.timeouts,
                    "non_ca": c.non_ca,
                    "other": c.other,
                    "p": line.p,
                    "p_ca": c.p,
                    "rtt": c.rtt,
                    "window": c.window,
                    "c": c.window * line.p**0.5,
                    "propagation_window": c.rate * (RTT + packet_time(rate)),
                    "utilisation": line.utilisation,
                }
            )
    return rows


def grid(setting: Setting, stacks: Mapping[str, ac.Stack], label: str) -> list[dict[str, Any]]:
    """All bandwidths with all queues (M-F5)."""
    return runs(setting, stacks, [(rate, queue) for rate in RATES for queue in QUEUES], label)


def reno(**changes: Any) -> ac.Stack:
    """Stock Reno."""
    return stock.tcp("reno", PACKET, **changes)


def slow(row: Mapping[str, Any]) -> bool:
    """Whether a packet takes so long that each is acknowledged."""
    return row["packet_time"] > DELAYED
