"""Figure 2 of the paper: response times of one trace over the congested bottleneck, with and without backoff,
and over a wide one.
"""

from __future__ import annotations

import numpy as np

import ackclock as ac
from ackclock.plot import ccdf_bands
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison, ratio
from ackclock.reproduce.backoff2008.testbed import NONE, STAR, TCP
from ackclock.reproduce.item import Check, Outcome, Setting

UNCONGESTED = "uncongested (50 Mbit/s)"
SECONDS = {"I": 30, "II": 100, "III": 400}
"""Time of arrivals in the quick form. Trace-III has few flows a second, and needs the longest."""


def words(trace: str, min_rto: str) -> str:
    """What a figure says below its title."""
    least = {"1s": "1 s", "200ms": "0.2 s"}[min_rto]
    return (
        f"10 Mbit/s RED bottleneck, RTT 10-200 ms, web flows of Trace-{trace}, SACK, minimum RTO "
        f"{least}, initial RTO 3 s"
    )


def duration(trace: str, part: float = 1.0) -> str:
    """How long the arrivals last, for the choices of an item."""
    return testbed.times({trace: SECONDS[trace]}, part=part)


def compare(trace: str, min_rto: str, setting: Setting, label: str, *, part: float = 1.0) -> Comparison:
    """TCP, TCP*(3) and TCP*(inf) at 10 Mbit/s, and the same arrivals for TCP at 50 Mbit/s. part: of the usual
    time of arrivals.
    """
    seconds = part * (testbed.FULL if setting.full else SECONDS)[trace]
    subtitle = words(trace, min_rto)
    congested = testbed.scenario(
        testbed.dumbbell(10), testbed.web(trace, 10), testbed.freebsd(min_rto), seconds, title=subtitle
    )
    wide = {UNCONGESTED: testbed.freebsd(min_rto)[TCP]}
    uncongested = testbed.scenario(
        testbed.dumbbell(50), testbed.web(trace, 50), wide, seconds, title=subtitle
    )
    return comparison.run([congested, uncongested], setting, label)


def outcome(found: Comparison, checks: list[Check], trace: str, min_rto: str) -> Outcome:
    """Checks with the figure, the tables and the numbers of each stack."""
    figure = ccdf_bands(
        {stack: found.times(stack) for stack in found.stacks},
        title="Response times with and without exponential backoff",
        subtitle=words(trace, min_rto),
    )
    return Outcome(checks, found.tables(), {"ccdf": figure}, found.notes())


def lowest_tail(found: Comparison) -> list[Check]:
    """The register's statements about Trace-I."""
    if silent := nothing_finished(found):
        return silent
    return [
        ratio("P99 of TCP*(inf) over TCP*(3)", found.p99(NONE), found.p99(STAR), most=1.05),
        ratio("P99 of TCP*(3) over TCP", found.p99(STAR), found.p99(TCP), most=1.05),
        ratio("mean of TCP*(inf) over TCP", found.mean(NONE), found.mean(TCP), most=1.0),
        lowest_everywhere({stack: np.concatenate(found.times(stack)) for stack in found.stacks}),
    ]


def no_degradation(found: Comparison) -> list[Check]:
    """The register's statements about Traces II and III."""
    if silent := nothing_finished(found):
        return silent
    return [
        ratio("P99 of TCP*(inf) over TCP", found.p99(NONE), found.p99(TCP), most=1.10),
        ratio("mean of TCP*(inf) over TCP", found.mean(NONE), found.mean(TCP), most=1.10),
    ]


def nothing_finished(found: Comparison) -> list[Check]:
    """A check that falls short where a stack finished no flow."""
    finished = {stack: min(t.size for t in found.times(stack)) for stack in found.stacks}
    if all(finished.values()):
        return []
    return [
        Check(
            "every stack finishes flows in every run",
            "some",
            ", ".join(f"{k}: {n}" for k, n in finished.items()),
            False,
        )
    ]


def lowest_everywhere(times: dict[str, np.ndarray]) -> Check:
    """The uncongested curve lies below the others at each percentile, and so does its longest response."""
    quantiles = np.linspace(0, 100, 101)
    others = np.min(
        [np.percentile(t, quantiles) for stack, t in times.items() if stack != UNCONGESTED], axis=0
    )
    above = np.percentile(times[UNCONGESTED], quantiles) > others
    got = f"lowest at {int((~above).sum())} of 101 percentiles"
    if above.any():
        got += f", not at {', '.join(f'{q:g}' for q in quantiles[above][:5])}"
    return Check(
        "the uncongested run is lowest everywhere", "lowest at 101 of 101 percentiles", got, not above.any()
    )


def demonstration(seconds: int) -> ac.Scenario:
    """Figure 2a's congested bottleneck with one seed."""
    return testbed.scenario(
        testbed.dumbbell(10),
        testbed.web("I", 10),
        testbed.stacks("1s"),
        seconds,
        title=f"{testbed.OFFERED_MBIT:g} Mbit/s of short web transfers for {seconds} s over a link of 10 "
        "Mbit/s, RTT 10-200 ms, minimum RTO 1 s",
        repeat=1,
    )
