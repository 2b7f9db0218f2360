from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison, ratio, shown
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Check, Outcome, Setting, item
from ackclock.scenario import Workload

BEGIN, SETTLED = 30, 10
"""Seconds: when the episode begins, and from when on the time before it is counted."""
LENGTH, FULL_LENGTH = 10, 30
"""Duration of the episode, seconds."""
AFTER, FULL_AFTER = 140, 500
"""Seconds that flows go on arriving afterwards."""
SEEDS = 3
NEWCOMERS = 10
"""Seconds after the end within which flows begin that count as newcomers."""
DATAGRAMS, CROWD = "a crowd of datagrams", "a crowd of connections"
UDP_MBIT, TCP_LOAD = 20, 2.0
"""The episode: datagrams in Mbit/s, or web flows' payload over the capacity."""


def episode(kind: str, until: int) -> Workload:
    """What congests the bottleneck for a while."""
    period: dict[str, Any] = {"name": "episode", "start": f"{BEGIN}s", "stop": f"{until}s"}
    if kind == DATAGRAMS:
        return ac.Udp(rate=f"{UDP_MBIT}Mbit/s", bytes="1000B", **period)
    return ac.Web(trace="I", load=TCP_LOAD, **period)


def scenario(kind: str, setting: Setting) -> ac.Scenario:
    """A moderate load, a heavy episode, and the time after it."""
    until = BEGIN + (FULL_LENGTH if setting.full else LENGTH)
    stacks = {f"{label}, {kind}": stack for label, stack in testbed.stacks("200ms", TCP, NONE).items()}
    base = ac.Web(name="base", trace="I", load=0.7, load_counts="wire")
    seconds = until + (FULL_AFTER if setting.full else AFTER)
    return testbed.scenario(testbed.dumbbell(10), [base, episode(kind, until)], stacks, seconds, repeat=SEEDS)


@item(
    "B-S2",
    kind="SIM",
    title="How long does it take to recover when heavy congestion ends?",
    choices={
        **testbed.CHOICES,
        "load": "70 % of the bottleneck, headers included, by web flows of Trace-I",
        "episodes": f"{LENGTH} s ({FULL_LENGTH} s with --full) of {UDP_MBIT} Mbit/s of datagrams, or of "
        f"web flows with {TCP_LOAD:g} times the capacity",
        "chosen after a first run": "with 20 s of datagrams or of three times the capacity, 120 s were not "
        "enough to recover from the latter with either stack; the checks are "
        "as they were",
        "random numbers": f"seeds 1 to {SEEDS}",
        "recovered": "the first second after the end in which no more flows are under way on average than "
        "in the busiest second before the episode",
        "cleared": "when 99 % of the flows that were under way at the end are done",
        "newcomers": f"flows that begin within {NEWCOMERS} s after the end",
        "tolerances": "TCP*(inf) takes at most as long as TCP for both; newcomers' mean at most 1.05 of "
        "TCP's",
        "duration": f"arrivals for {AFTER} s after the end ({FULL_AFTER} s with --full), then as long as "
        "the last flows need",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Flows under way, second by second, and what becomes of those that the episode left behind."""
    kinds = (DATAGRAMS, CROWD)
    end = BEGIN + (FULL_LENGTH if setting.full else LENGTH)
    last = end + (FULL_AFTER if setting.full else AFTER)
    found = comparison.run([scenario(kind, setting) for kind in kinds], setting, "B-S2")
    checks: list[Check] = []
    notes, rows, lines = [], [], {}
    for kind in kinds:
        measured: dict[str, dict[str, np.ndarray]] = {}
        for label in (TCP, NONE):
            stack = f"{label}, {kind}"
            lines[stack] = under_way(found, stack, last)
            runs = found.of(stack)
            measured[label] = {
                "recovered": np.array([recovered(line, end) for line in lines[stack]]),
                "cleared": np.array([cleared(*spans(flows), end) for flows in runs]),
                "newcomers": np.array([newcomers(*spans(flows), end) for flows in runs]),
            }
            rows.append(
                {"episode": kind, "stack": label}
                | {key: float(v.mean()) for key, v in measured[label].items()}
            )
            times = ", ".join(f"{key} {shown(v)} s" for key, v in measured[label].items())
            notes.append(
                f"{kind}, {label}: {times}; {np.mean([line[end] for line in lines[stack]]):.4g} flows "
                "under way at the end"
            )
        for key, words, most in (
            ("recovered", "time until recovered", 1.0),
            ("cleared", "time until cleared", 1.0),
            ("newcomers", "mean of newcomers", 1.05),
        ):
            checks.append(
                ratio(
                    f"{kind}: {words}, TCP*(inf) over TCP", measured[NONE][key], measured[TCP][key], most=most
                )
            )
    series = [
        {"stack": stack, "second": s, "flows": float(v)}
        for stack, runs in lines.items()
        for s, v in enumerate(np.mean(runs, axis=0))
    ]
    tables = {"times": pa.Table.from_pylist(rows), "under-way": pa.Table.from_pylist(series)}
    return Outcome(checks, tables, {"under-way": picture(lines, end)}, notes, answer(rows, checks))


def spans(flows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """When the web flows of a run began and when they were done (s); infinite for those that never were."""
    flows = flows.filter(flows["size"].is_valid())
    start, took = flows["start"].to_numpy(), flows["response_time"].to_numpy()
    return start, start + np.where(np.isfinite(took), took, np.inf)


def under_way(found: Comparison, stack: str, seconds: int) -> list[np.ndarray]:
    """Flows under way, the average of each second, a line for each run."""
    return [average(*spans(flows), seconds) for flows in found.of(stack)]


def average(begins: np.ndarray, ends: np.ndarray, seconds: int) -> np.ndarray:
    """How many of the spans hold each moment, averaged over each second: the integrals of the steps up, less
    those of the steps down.
    """
    edges = np.arange(seconds + 1, dtype=float)

    def integral(at: np.ndarray) -> np.ndarray:
        at = np.sort(at[np.isfinite(at)])
        count = np.searchsorted(at, edges)
        return count * edges - np.concatenate([[0.0], np.cumsum(at)])[count]

    return np.diff(integral(begins) - integral(ends))


def recovered(line: np.ndarray, end: int) -> float:
    """Seconds from the end of the episode until no more flows are under way than in the busiest second before
    it.
    """
    quiet = np.flatnonzero(line[end:] <= line[SETTLED:BEGIN].max())
    return float(quiet[0]) + 1.0 if quiet.size else float(line.size - end)


def cleared(begins: np.ndarray, ends: np.ndarray, end: int) -> float:
    """Seconds from the end of the episode until 99 % of the flows under way then are done."""
    left = ends[(begins <= end) & (ends > end)]
    return float(np.quantile(left, 0.99, method="higher")) - end if left.size else 0.0


def newcomers(begins: np.ndarray, ends: np.ndarray, end: int) -> float:
    """Mean response time (s) of the flows that begin soon after the end."""
    new = (begins > end) & (begins <= end + NEWCOMERS)
    return float((ends - begins)[new].mean())


def answer(rows: list[dict[str, Any]], checks: list[Check]) -> str:
    """What the results say."""
    by = {(row["episode"], row["stack"]): row for row in rows}
    parts = []
    for kind in (DATAGRAMS, CROWD):
        tcp, none = by[kind, TCP], by[kind, NONE]
        parts.append(
            f"After {kind} the bottleneck is back to its usual number of flows in "
            f"{none['recovered']:.3g} s without backoff and {tcp['recovered']:.3g} s with, and 99 % of "
            f"the flows left behind are done after {none['cleared']:.3g} s against "
            f"{tcp['cleared']:.3g} s."
        )
    quick = all(c.holds for c in checks if "newcomers" not in c.name)
    late = [
        kind
        for kind in (DATAGRAMS, CROWD)
        if any(not c.holds for c in checks if c.name.startswith(f"{kind}: mean of newcomers"))
    ]
    parts.append(
        "Recovery is no slower without backoff"
        if quick
        else "Recovery is not always as quick without backoff"
    )
    parts[-1] += (
        f"; flows that begin just after {' and '.join(late)} wait longer."
        if late
        else ", and flows that begin just afterwards do not pay for it."
    )
    return " ".join(parts)


def picture(lines: dict[str, list[np.ndarray]], end: int) -> Figure:
    """Flows under way against time."""
    fig, axes = style.figure(
        "Flows under way before, during and after heavy congestion",
        "10 Mbit/s RED, 70 % load of Trace-I, SACK, minimum RTO 0.2 s; means over the runs",
    )
    with mpl.rc_context(style.SETTINGS):
        axes.axvspan(BEGIN, end, color="#eeeeee", zorder=0)
        for i, (stack, runs) in enumerate(lines.items()):
            mean = np.mean(runs, axis=0)
            axes.plot(np.arange(mean.size) + 0.5, np.maximum(mean, 0.5), label=stack, **style.line(i))
        axes.annotate(
            "episode",
            ((BEGIN + end) / 2, 0),
            (0, 5),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            fontsize=8.5,
        )
        axes.set(xlabel="time (s)", ylabel="flows under way", yscale="log", xlim=(SETTLED, None))
        axes.grid(True)
        axes.legend(loc="best", fontsize=9)
    return fig
