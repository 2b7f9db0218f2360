"""Flows over two bottlenecks and over one (B-F9)."""

from __future__ import annotations

import numpy as np

from ackclock.plot import ccdf_bands
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008 import two_bottlenecks as two
from ackclock.reproduce.backoff2008.comparison import Comparison, shown
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Check, Outcome, Setting

SECONDS = {"I": 20, "II": 60, "III": 400}
FULL_SEEDS = {"I": testbed.SEEDS, "II": 10, "III": 10}
"""Of the full form: more where four leave a limit inside the interval, so that this decides."""


def choices(trace: str) -> dict[str, str]:
    """What an item declares."""
    seeds = f"seeds 1 to {testbed.SEEDS}"
    if (full := FULL_SEEDS[trace]) != testbed.SEEDS:
        seeds += (
            f" (1 to {full} with --full, after four had left a limit inside the interval: then the interval "
            "decides, and where it contains a limit the check is open)"
        )
    return {**two.CHOICES, "duration": testbed.times({trace: SECONDS[trace]}), "random numbers": seeds}


def compare(trace: str, setting: Setting, label: str) -> Comparison:
    """TCP and TCP*(inf) over both bottlenecks."""
    seconds = (testbed.FULL if setting.full else SECONDS)[trace]
    seeds = FULL_SEEDS[trace] if setting.full else testbed.SEEDS
    return comparison.run(two.scenario(trace, seconds, repeat=seeds), setting, label)


def outcome(found: Comparison, checks: list[Check], trace: str) -> Outcome:
    """Checks with the figure and the numbers of each group of flows."""
    series = {
        f"{stack}, {group}": found.times(stack, group=group)
        for group in (two.FAR, two.NEAR)
        for stack in (TCP, NONE)
    }
    notes = [
        (
            f"{name}: mean {shown([t.mean() for t in runs])} s, P99 "
            f"{shown([np.percentile(t, 99) for t in runs])} s, {sum(t.size for t in runs)} flows"
        )
        for name, runs in series.items()
    ]
    figure = ccdf_bands(
        {label(name): runs for name, runs in series.items()},
        title="Response times over two bottlenecks and over one",
        subtitle=f"Two RED bottlenecks of 10 Mbit/s, RTT 10-200 ms, web flows of Trace-{trace}, SACK, "
        "minimum RTO 0.2 s",
        by="stack, path",
    )
    return Outcome(checks, found.tables(), {"ccdf": figure}, notes + found.notes())


def label(name: str) -> str:
    """A series as the figure has it: by what its flows cross, not by where they begin and end."""
    stack, group = name.split(", ")
    return f"{stack}, {'two bottlenecks' if group == two.FAR else 'one bottleneck'}"


def finished_within(found: Comparison, stack: str, group: str, seconds: float) -> np.ndarray:
    """Share of a group's flows that were done within a time, for each run."""
    pairs = zip(found.times(stack, group=group), found.of(stack, group=group), strict=True)
    return np.array([float((t <= seconds).sum()) / max(flows.num_rows, 1) for t, flows in pairs])
