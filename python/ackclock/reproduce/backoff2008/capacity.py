"""The same load at two capacities (B-F3, B-X4)."""

from __future__ import annotations

import ackclock as ac
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Setting

MBIT = (10, 50)
LOAD = testbed.OFFERED_MBIT / 10
"""Payload over the capacity, at either."""
SECONDS = {"I": 20, "II": 30, "III": 80}
"""Time of arrivals in the quick form, the same at either capacity: an overload lengthens its queue of flows
as long as it lasts.
"""
FULL = {"I": 60, "II": 200, "III": 400}
"""The same with --full; at 50 Mbit/s there are five times as many flows."""
SEEDS, FULL_SEEDS = 3, 10

CHOICES = {
    **testbed.CHOICES,
    **testbed.FREEBSD,
    "arrivals": f"Poisson, one connection for each transfer; payload of {LOAD:g} times the capacity, "
    "whatever that is",
    "duration": f"{testbed.times(SECONDS, FULL)}; the same at either capacity",
    "chosen after a first run": "equal times: with fewer seconds at 50 than at 10 Mbit/s (8 and 60 in "
    "Trace-I, 16 and 60 in II, 80 and 300 in III) gains in Trace-I were 1.39 "
    "and 1.27, and B-X4 fell short, with 0.92 for Trace-III at 10 Mbit/s",
    "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full)",
    "numbers checked": "ratios of means over the runs of each run's 99th percentile",
}


def scenario(trace: str, mbit: int, seconds: float, load: float = LOAD, **more: object) -> ac.Scenario:
    """TCP and TCP*(inf) at one capacity, labelled with it."""
    stacks = {f"{label}, {mbit}": stack for label, stack in testbed.freebsd("200ms", TCP, NONE).items()}
    return testbed.scenario(testbed.dumbbell(mbit), ac.Web(trace=trace, load=load), stacks, seconds, **more)


def compare(
    trace: str, setting: Setting, label: str, share: tuple[float, float], *, part: float = 1.0
) -> Comparison:
    """Both capacities. part: of the usual time of arrivals."""
    seconds = part * (FULL if setting.full else SECONDS)[trace]
    return comparison.run(
        [scenario(trace, mbit, seconds, repeat=FULL_SEEDS if setting.full else SEEDS) for mbit in MBIT],
        setting,
        label,
        share=share,
    )


def gains(found: Comparison) -> dict[int, float]:
    """99th percentile of TCP over that of TCP*(inf), by capacity."""
    return {
        mbit: float(found.p99(f"{TCP}, {mbit}").mean() / found.p99(f"{NONE}, {mbit}").mean()) for mbit in MBIT
    }
