"""How many clients a link carries when all of them take one approach (I-F9): latency against their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models.interactive2007 import flows_sustained
from ackclock.plot import style
from ackclock.reproduce.interactive2007 import latency, seen, testbed
from ackclock.reproduce.item import Check, Outcome, Setting, at_most, between, stated
from ackclock.results import Run
from ackclock.results.confidence import half_width

RATE, RTT = 1.5, 0.1
"""Mbit/s of the bottleneck, and seconds of round trip."""
SHORT_RTT = 0.012
"""Seconds: that of the default scenario, for comparison with --full."""
INTERACTIVE, PADDED, DIVERSITY, BACKLOGGED = "interactive", "II: padding", "III: diversity", "backlogged"
DEPARTED = 1.5
"""Times the latency at low load from which on it has departed (I-F9a)."""
OTHER_RISES = (1.2, 2.0)
"""The same with other values, which the paper leaves open."""
MANY = 400
"""Flows beyond which diversity is to be no slower than the interactive flows."""
RED_OF_BYTES = "RED, thresholds in bytes"
IN_BYTES = ac.Red(limit=f"{testbed.BUFFER}B", min_th="2500B", max_th="7500B", w_q=0.002, max_p=0.1)
"""RED with the default thresholds as bytes: 5 and 15 mean packets of 500."""
SECONDS, SEEDS = 25.0, 3
READ = 40
"""Flows whose packets are read, or all where there are fewer: they are all alike, and reading costs more than
simulating.
"""
DUMMIES = {PADDED: 20}
"""Payload of dummies, by which they are distinguished from packets."""
GROUP = "read"


@dataclass(frozen=True)
class Approach:
    """What all clients of a run are."""

    name: str
    flows: tuple[int, ...]
    """How many, the least first: its latency is that of low load."""
    bytes: int
    """Of a client, in a second, dummies and copies included; 0 for as many as there is room for."""
    departs: tuple[float, float]
    """Between which numbers of flows the register has its departure."""

    def workloads(self, flows: int) -> list[Any]:
        """So many clients: those that are read, and the others."""
        kind = {PADDED: ac.Padded, BACKLOGGED: ac.Bulk}.get(self.name, ac.Telnet)
        own: dict[str, Any] = testbed.measured()
        if self.name != BACKLOGGED:
            own |= {"think": f"{testbed.THINK:g}s", "bytes": f"{testbed.PAYLOAD}B"}
        if self.name in DUMMIES:
            own["dummy_bytes"] = f"{DUMMIES[self.name]}B"
        first = min(flows, READ)
        return [
            kind(name=name, flows=n, **own) for name, n in ((GROUP, first), ("others", flows - first)) if n
        ]

    def stack(self, preset: str = testbed.RENO) -> ac.Stack:
        """Their TCP."""
        return testbed.tcp(preset + ("+diversity(2)" if self.name == DIVERSITY else ""))

    def carried(self) -> float:
        """The flows that fill the link (I-E16)."""
        return float(flows_sustained(RATE * 1e6, self.bytes, testbed.THINK))


PACKET = testbed.PAYLOAD + testbed.HEADERS
APPROACHES = (
    Approach(INTERACTIVE, (50, 300, 320, 340, 360, 450, 500), PACKET, (338, 375)),
    Approach(PADDED, (50, 200, 220, 240, 260, 320, 400), PACKET + 3 * 60, (235, 265)),
    Approach(DIVERSITY, (50, 160, 180, 200, 250, 325, 400, 450, 500), 2 * PACKET, (163, 187)),
    Approach(BACKLOGGED, (1, 10, 20, 40, 100), 0, (0, 60)),
)

CHOICES = {
    **{key: text for key, text in testbed.CHOICES.items() if key != "cross traffic"},
    **seen.CHOICES,
    "waiting at the sender": "of a packet that its window holds back is no part of the response time, "
    "which begins when it is sent (I-A1). In overload it would be most of it, and "
    "grow as long as the run lasts; chosen after a first run had counted it",
    "packets read": f"those of {READ} of the flows, or of all where there are fewer",
    "path": f"dumbbell of {RATE:g} Mbit/s, {testbed.BUFFER / 1e3:g} kB as by default; round trip "
    f"{1e3 * RTT:g} ms, the upper end of the paper's sweeps. Both are unstated here. With the "
    f"default {1e3 * SHORT_RTT:g} ms the wait in an M/D/1 queue makes 1.5 times the latency at 84 "
    "% of the load, 291 interactive flows; a first run of interactive flows had shown that",
    "padding": "three dummies of 20 bytes, 1 ms apart (II); diversity: two copies (III)",
    "departure": f"where the line through the means crosses {DEPARTED:g} times the latency at the least "
    "number of flows (1 backlogged, 50 others)",
    "slope of III": f"of the least-squares line through its points between its departure and {MANY} flows",
    "numbers of flows": "; ".join(f"{a.name} {', '.join(map(str, a.flows))}" for a in APPROACHES),
    "random numbers": f"seeds 1 to {SEEDS}; bands are 95 % confidence from the spread between them",
    "duration": f"{SECONDS:g} s ({testbed.FULL:g} s with --full, {SECONDS:g} s with the short round trip), "
    f"after {testbed.WARM:g} s without flows",
    "overload": "in the quick form only its beginning: beyond the departures latencies are still growing "
    "after that time",
}


@dataclass(frozen=True)
class Curve:
    """An approach's latency by number of flows."""

    approach: Approach
    seconds: np.ndarray
    """Latency: a row for each number of flows, a column for each seed."""

    @property
    def means(self) -> np.ndarray:
        """Mean latency (s) at each number of flows."""
        return self.seconds.mean(axis=1)

    @property
    def departure(self) -> float:
        """Flows at which the latency has departed; infinite where it does not."""
        return self.risen(DEPARTED)

    def risen(self, times: float) -> float:
        """Flows at which the latency is so many times that at low load; infinite where it does not rise so
        much.
        """
        return latency.crossing(np.array(self.approach.flows, float), self.means, times * self.means[0])

    def slope(self, upto: float = MANY) -> float:
        """Seconds per flow, from the departure up to so many flows."""
        n = np.array(self.approach.flows)
        steep = (n >= self.departure) & (n <= upto)
        return float(np.polyfit(n[steep], self.means[steep], 1)[0]) if steep.sum() > 1 else float("nan")


def scenario(
    a: Approach, flows: int, kind: str, seed: int, seconds: float, rtt: float, preset: str = testbed.RENO
) -> ac.Scenario:
    """So many clients of one approach, alone on the link."""
    if kind == RED_OF_BYTES:
        link = ac.Link(f"{RATE:g}Mbit/s", queue=IN_BYTES)
        path = ac.Dumbbell(bottleneck=link, back=link, rtt=f"{1e6 * rtt:.0f}us")
    else:
        path = testbed.dumbbell(kind, mbit=RATE, rtt=rtt)
    return testbed.scenario(
        path, a.workloads(flows), {a.name: a.stack(preset)}, seconds, seed=seed, trace=["packets"]
    )


def measure(
    kind: str,
    setting: Setting,
    label: str,
    approaches: Sequence[Approach] = APPROACHES,
    *,
    rtt: float = RTT,
    method: str = seen.TEXT,
) -> tuple[list[Curve], pa.Table]:
    """The curves of approaches with one kind of queue, and a row for each run. method: how responses are
    counted, and of which sender.
    """
    preset = testbed.RENO if method == seen.TEXT else testbed.SACK
    seeds = range(1, SEEDS + 1)
    seconds = testbed.FULL if setting.full and rtt == RTT else SECONDS
    jobs = {
        (a, n, seed): scenario(a, n, kind, seed, seconds, rtt, preset)
        for a in approaches
        for n in a.flows
        for seed in seeds
    }

    def reader(key: tuple[Approach, int, int], run: Run) -> dict[str, float]:
        link = run.links.to_pylist()[0]
        marks = testbed.THINK if key[0].name == BACKLOGGED else 0.0
        found = seen.read(run, GROUP, larger=DUMMIES.get(key[0].name, 0), marks=marks, method=method)
        lost = link["dropped_queue"] / max(link["packets_offered"], 1)
        waited = latency.mean(run, GROUP) if key[0].name != BACKLOGGED else float("nan")
        return {
            "latency": found.mean,
            "with_waiting": waited,
            "loss": lost,
            "utilisation": link["utilisation"],
            "queue": link["queue_mean_packets"],
        }

    rows = [
        {"discipline": kind, "rtt": rtt, "approach": a.name, "flows": n, "seed": seed, **numbers}
        for (a, n, seed), numbers in seen.each(setting, jobs, reader, label).items()
    ]
    by = {
        a.name: np.array([r["latency"] for r in rows if r["approach"] == a.name]).reshape(
            len(a.flows), len(seeds)
        )
        for a in approaches
    }
    return [Curve(a, by[a.name]) for a in approaches], pa.Table.from_pylist(rows)


def of(curves: Sequence[Curve], name: str) -> Curve:
    """The curve of an approach."""
    return next(c for c in curves if c.approach.name == name)


def departures(curves: list[Curve]) -> list[Check]:
    """Whether each departs where the register has it."""
    checks = []
    for c in curves:
        low, high = c.approach.departs
        if c.approach.bytes:
            checks.append(
                between(
                    f"{c.approach.name}: departs at, flows (I-E16: {c.approach.carried():.0f})",
                    c.departure,
                    low,
                    high,
                )
            )
        else:
            checks.append(at_most(f"{c.approach.name}: departs at, flows", c.departure, high, "before"))
    return checks


def beyond(curves: list[Curve]) -> Check:
    """Whether diversity is no slower than the interactive flows at many flows."""
    by = {c.approach.name: dict(zip(c.approach.flows, c.means, strict=True)) for c in curves}
    both = [n for n in by[DIVERSITY] if n > MANY and n in by[INTERACTIVE]]
    shown = ", ".join(f"{n}: {by[DIVERSITY][n]:.3g} and {by[INTERACTIVE][n]:.3g}" for n in both)
    holds = all(by[DIVERSITY][n] <= by[INTERACTIVE][n] for n in both)
    return stated(f"beyond {MANY} flows III is no slower than interactive (s)", shown, holds)


def outcome(kind: str, setting: Setting, label: str, title: str) -> tuple[Outcome, list[Curve]]:
    """What both figures have in common: curves, departures, a figure, and with --full the short round trip
    beside them.
    """
    curves, table = measure(kind, setting, label)
    tables = {"latency": table}
    notes = [
        f"{c.approach.name}: "
        + ", ".join(f"{1e3 * m:.4g} ms at {n}" for n, m in zip(c.approach.flows, c.means, strict=True))
        for c in curves
    ]
    notes += [
        f"{c.approach.name}: risen to "
        + ", ".join(f"{x:g} times at {c.risen(x):.0f} flows" for x in OTHER_RISES)
        for c in curves
    ]
    own, tables["own_method"] = measure(kind, setting, label, method=seen.OWN)
    notes.append(
        "SACK, every packet to its own ack: departures at "
        + ", ".join(f"{c.departure:.0f} ({c.approach.name})" for c in own)
    )
    if setting.full:
        short, tables["short_rtt"] = measure(kind, setting, label, rtt=SHORT_RTT)
        notes.append(
            f"with a round trip of {1e3 * SHORT_RTT:g} ms departures are at "
            + ", ".join(f"{c.departure:.0f} ({c.approach.name})" for c in short)
        )
    return Outcome(departures(curves), tables, {"latency": picture(curves, title, kind)}, notes), curves


HIGHEST = 1.5
"""Seconds that the figure shows."""


def picture(curves: list[Curve], title: str, kind: str) -> Figure:
    """Latency against number of flows, with bands, and the formula as marks at the foot."""
    words = (
        f"{kind}, {RATE:g} Mbit/s, {1e3 * RTT:g} ms, {PACKET} bytes a second each; bands: 95 %; "
        "dotted: the link is full"
    )
    fig, axes = style.figure(title, words)
    with mpl.rc_context(style.SETTINGS):
        for i, c in enumerate(curves):
            n, look = np.array(c.approach.flows), style.line(i)
            width = np.array([half_width(row) for row in c.seconds])
            axes.fill_between(
                n, c.means - width, c.means + width, color=look["color"], alpha=0.2, linewidth=0
            )
            axes.plot(n, c.means, marker="o", markersize=3.5, label=c.approach.name, **look)
            if c.approach.bytes:
                axes.axvline(c.approach.carried(), color=look["color"], linewidth=1.0, linestyle=":")
        axes.set(xlabel="number of flows", ylabel="mean latency (s)", ylim=(0, HIGHEST), xlim=(0, 500))
        axes.grid(True)
        axes.legend(loc="upper left", fontsize=9, handlelength=2.6)
    return fig
