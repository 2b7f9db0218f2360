from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import ccdf
from ackclock.reproduce.backoff2008 import testbed
from ackclock.reproduce.item import Check, Outcome, Setting, at_most, item
from ackclock.results.summary import response_times

UNCONGESTED = "uncongested (50 Mbit/s)"
SUBTITLE = "10 Mbit/s RED bottleneck, RTT 10-200 ms, web flows of Trace-I, SACK, minimum RTO 1 s, initial RTO 3 s"


def congested(seconds: int) -> ac.Scenario:
    """The congested dumbbell with its three stacks: arrivals for so many seconds, and time for the last flow to end."""
    return _scenario(10, testbed.stacks("1s"), seconds)


def uncongested(seconds: int) -> ac.Scenario:
    """The same arrivals at a bottleneck of 50 Mbit/s, for TCP alone."""
    return _scenario(50, {UNCONGESTED: testbed.stacks("1s")["TCP"]}, seconds)


def _scenario(mbit: int, stacks: dict[str, ac.Stack], seconds: int) -> ac.Scenario:
    path, web = testbed.dumbbell(mbit), testbed.web("I", mbit)
    return ac.Scenario.of(path, web, stacks, title=SUBTITLE, seed=1, duration=f"{seconds}s", drain=f"{max(seconds, 1000)}s")


@item(
    "B-F2a",
    kind="SIM",
    title="CCDF of response times with and without backoff, Trace-I",
    choices={**testbed.CHOICES, "duration": "arrivals for 300 s (3600 s with --full), then at least 1000 s for the last flows to end"},
)
def reproduce(setting: Setting) -> Outcome:
    """Runs TCP, TCP*(3) and TCP*(inf) over the congested bottleneck, and TCP over the uncongested one."""
    seconds = 3600 if setting.full else 300
    runs = [
        congested(seconds).simulate(workers=setting.workers, progress=lambda share, _: setting.progress(0.9 * share, "B-F2a")),
        uncongested(seconds).simulate(workers=setting.workers, progress=lambda share, _: setting.progress(0.9 + 0.1 * share, "B-F2a")),
    ]
    flows = pa.concat_tables([run.flows for run in runs])
    times = {row["stack"]: response_times(flows.filter(pa.compute.equal(flows["stack"], row["stack"]))) for run in runs for row in run.stacks}
    figure = ccdf(times, title="Response times with and without exponential backoff", subtitle=SUBTITLE)
    rows = [row for run in runs for row in run.stacks]
    tables = {"flows": flows, "links": pa.concat_tables([run.links for run in runs]), "stacks": pa.Table.from_pylist(rows)}
    return Outcome(checks(times), tables, {"ccdf": figure}, [note(row) for row in rows])


def checks(times: dict[str, np.ndarray]) -> list[Check]:
    """The register's statements about the response times of the four curves."""
    if any(not t.size for t in times.values()):
        return [Check("every stack finishes flows", "some", ", ".join(f"{k}: {t.size}" for k, t in times.items()), False)]
    p99 = {stack: float(np.percentile(t, 99)) for stack, t in times.items()}
    mean = {stack: float(t.mean()) for stack, t in times.items()}
    return [
        at_most("P99 (s) of TCP*(inf)", p99["TCP*(inf)"], 1.05 * p99["TCP*(3)"], "at most 1.05 P99 of TCP*(3)"),
        at_most("P99 (s) of TCP*(3)", p99["TCP*(3)"], 1.05 * p99["TCP"], "at most 1.05 P99 of TCP"),
        at_most("mean (s) of TCP*(inf)", mean["TCP*(inf)"], mean["TCP"], "at most the mean of TCP"),
        lowest_everywhere(times),
    ]


def lowest_everywhere(times: dict[str, np.ndarray]) -> Check:
    """The uncongested curve lies below the others at each percentile, and so does its longest response."""
    quantiles = np.linspace(0, 100, 101)
    others = np.min([np.percentile(t, quantiles) for stack, t in times.items() if stack != UNCONGESTED], axis=0)
    above = np.percentile(times[UNCONGESTED], quantiles) > others
    got = f"lowest at {int((~above).sum())} of 101 percentiles"
    if above.any():
        got += f", not at {', '.join(f'{q:g}' for q in quantiles[above][:5])}"
    return Check("the uncongested run is lowest everywhere", "lowest at 101 of 101 percentiles", got, not above.any())


def note(row: dict[str, Any]) -> str:
    """One stack's numbers in a line."""
    if row["mean"] is None:
        return f"{row['stack']}: none of {row['flows']} flows finished"
    return (
        f"{row['stack']}: {row['finished']} of {row['flows']} flows finished, mean {row['mean']:.4g} s, P99 {row['p99']:.4g} s, "
        f"loss {100 * row['loss']:.2f} %, goodput {row['goodput'] / 1e6:.3g} Mbit/s, realised load {row['load']:.3g}"
    )
