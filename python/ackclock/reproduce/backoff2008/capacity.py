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
SECONDS = {"I": 30, "II": 40, "III": 120}
"""Time of arrivals in the quick form, the same at either capacity: an overload lengthens its queue of flows as long as it lasts."""
SEEDS = 3
FULL = 1200
OTHER_LOADS = (1.0, 1.5)

CHOICES = {
    **testbed.CHOICES,
    "arrivals": f"Poisson, one connection for each transfer; payload of {LOAD:g} times the capacity, whatever that is",
    "duration": "; ".join(f"Trace-{t}: arrivals for {s} s" for t, s in SECONDS.items()) + f", at either capacity ({FULL} s with --full)",
    "random numbers": f"seeds 1 to {SEEDS}",
    "numbers checked": "ratios of means over the runs of each run's 99th percentile",
}


def scenario(trace: str, mbit: int, seconds: float, load: float = LOAD, **more: object) -> ac.Scenario:
    """TCP and TCP*(inf) at one capacity, labelled with it."""
    stacks = {f"{label}, {mbit}": stack for label, stack in testbed.stacks("200ms", TCP, NONE).items()}
    return testbed.scenario(testbed.dumbbell(mbit), ac.Web(trace=trace, load=load), stacks, seconds, **more)


def compare(trace: str, setting: Setting, label: str, share: tuple[float, float], *, part: float = 1.0) -> Comparison:
    """Both capacities. part: of the usual time of arrivals."""
    seconds = part * (FULL if setting.full else SECONDS[trace])
    return comparison.run([scenario(trace, mbit, seconds, repeat=SEEDS) for mbit in MBIT], setting, label, share=share)


def gains(found: Comparison) -> dict[int, float]:
    """99th percentile of TCP over that of TCP*(inf), by capacity."""
    return {mbit: float(found.p99(f"{TCP}, {mbit}").mean() / found.p99(f"{NONE}, {mbit}").mean()) for mbit in MBIT}


def other_choices(setting: Setting, label: str, share: tuple[float, float]) -> list[str]:
    """The gain at 10 Mbit/s where what the paper leaves open is chosen otherwise, two runs each: other loads, and Karn's rule for the backoff."""
    seconds, notes = FULL / 4 if setting.full else 30, []
    cases = [(f"load {load:g}", load, False) for load in OTHER_LOADS]
    cases += [(f"load {LOAD:g}, backoff kept until an unambiguous sample", LOAD, True)]
    for i, (words, load, karn) in enumerate(cases):
        low = share[0] + (share[1] - share[0]) * i / len(cases)
        part = (low, low + (share[1] - share[0]) / len(cases))
        stacks = {name: stack.but(karn_backoff=karn) for name, stack in testbed.stacks("200ms", TCP, NONE).items()}
        one = testbed.scenario(testbed.dumbbell(10), ac.Web(trace="I", load=load), stacks, seconds, repeat=2)
        found = comparison.run(one, setting, label, share=part)
        p99 = {name: found.p99(name).mean() for name in (TCP, NONE)}
        gain = p99[TCP] / p99[NONE]
        notes.append(f"{words}, 10 Mbit/s, {seconds:g} s: P99 of TCP {p99[TCP]:.4g} s, of TCP*(inf) {p99[NONE]:.4g} s, ratio {gain:.3g}")
    return notes
