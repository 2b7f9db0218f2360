"""Tahoe, Reno and SACK, each with and without backoff (B-F5)."""

from __future__ import annotations

from ackclock.plot import ccdf_bands
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import ratio
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, at_most

VARIANTS = {"Tahoe": "tahoe", "Reno": "reno", "SACK": "sack"}
SECONDS, FULL, SEEDS = 20, testbed.FULL["I"], 3

CHOICES = {
    **testbed.ON_FREEBSD,
    "packets": f"{testbed.FREEBSD['packets']}; Tahoe begins with one segment",
    "random numbers": f"seeds 1 to {SEEDS}",
    "spread of means": "largest over smallest of the three, for each backoff",
    "duration": f"arrivals for {SECONDS} s ({FULL} s with --full), then as long as the last flows need",
}


def experiment(queue: str, setting: Setting, label: str) -> Outcome:
    """All six stacks over one kind of queue."""
    stacks = {
        f"{name}, {'TCP' if b == TCP else 'no backoff'}": s
        for name, preset in VARIANTS.items()
        for b, s in testbed.freebsd("200ms", TCP, NONE, preset=preset).items()
    }
    scenario = testbed.scenario(
        testbed.dumbbell(10, queue),
        testbed.web("I", 10),
        stacks,
        FULL if setting.full else SECONDS,
        repeat=SEEDS,
    )
    found = comparison.run(scenario, setting, label)
    checks = [
        ratio(
            f"{name}: P99 without over with backoff",
            found.p99(f"{name}, no backoff"),
            found.p99(f"{name}, TCP"),
            most=1.0,
        )
        for name in VARIANTS
    ]
    for kind in ("TCP", "no backoff"):
        means = {name: float(found.mean(f"{name}, {kind}").mean()) for name in VARIANTS}
        checks.append(
            at_most(
                f"{kind}: spread of means over the variants (%)",
                100 * (max(means.values()) / min(means.values()) - 1),
                25,
                "at most",
            )
        )
    words = (
        f"10 Mbit/s {'RED' if queue == 'red' else 'drop-tail'} bottleneck, RTT 10-200 ms, web flows of "
        "Trace-I, minimum RTO 0.2 s"
    )
    figure = ccdf_bands(
        {stack: found.times(stack) for stack in stacks},
        title="Response times of variants of TCP",
        subtitle=words,
    )
    return Outcome(checks, found.tables(), {"ccdf": figure}, found.notes())
