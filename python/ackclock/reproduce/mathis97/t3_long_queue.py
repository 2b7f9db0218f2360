from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ackclock.plot import style
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, between, item
from ackclock.reproduce.mathis97 import phase
from ackclock.reproduce.mathis97 import t2_phase_effects as t2
from ackclock.results import Run

LIMIT = 100
PAPER = {"drop-tail": (244, 556), "RED": (401, 397)}
"""kbit/s."""
SHOWN = 300
"""Seconds in the figure."""


Samples = list[tuple[np.ndarray, np.ndarray]]
"""Time and round-trip time of each connection's samples."""


def samples(setting: Setting, seeds: range) -> list[Samples]:
    """Those after the warm-up with each start, drop-tail."""
    wanted = [
        phase.scenario(
            phase.queue("drop-tail", LIMIT),
            trace="samples",
            duration=f"{phase.WARM + phase.SECONDS}s",
            seed=n,
        )
        for n in seeds
    ]
    return [of_run(run) for run in setting.run_all(wanted, "M-T3")]


def of_run(run: Run) -> Samples:
    """Those of a run."""
    found = run.traces["samples"]
    found = found.filter(pc.and_(pc.is_valid(found["rtt"]), pc.greater(found["time"], phase.WARM)))
    out = []
    for connection in (0, 2):
        mine = found.filter(pc.equal(found["connection"], connection))
        out.append((mine["time"].to_numpy(), mine["rtt"].to_numpy()))
    return out


def least_queue(rtts: Samples) -> float:
    """The shortest queue that a packet met, packets: what its round-trip time has above the least, over the
    service time.
    """
    least = [phase.minimum(d) for d in (phase.NEAR, phase.DELTA)]
    return min((1e3 * float(rtt.min()) - m) / phase.SERVICE for (_, rtt), m in zip(rtts, least, strict=True))


def checks(by: dict[tuple[str, int], list[phase.Column]], shortest: list[float]) -> list[Check]:
    """The register's statements about table 3: medians over the starts. by: columns by queue and its limit,
    those with t2.LIMIT are of table 2.
    """
    dt, red = by["drop-tail", LIMIT], by["RED", LIMIT]
    rtt, before = (
        t2.middle(float(np.mean([c.rtt for c in column.tcp])) for column in by["drop-tail", limit])
        for limit in (LIMIT, t2.LIMIT)
    )
    bandwidth = [
        np.array([t2.middle(c.bandwidths[i] for c in columns) for i in range(2)])
        for columns in (red, by["RED", t2.LIMIT])
    ]
    return [
        between("drop-tail: link delay (ms)", t2.middle(1e3 * c.line.delay for c in dt), 700, 900),
        between(
            "drop-tail: mean round-trip times (s), about 1",
            [t2.middle(c.tcp[i].rtt for c in dt) for i in range(2)],
            0.9,
            1.1,
        ),
        at_least("drop-tail: shortest queue (packets)", t2.middle(shortest), 40, "at least"),
        between("drop-tail: mean round-trip time over that of table 2, about 3", rtt / before, 2.7, 3.7),
        between("drop-tail: CA events of both", t2.middle(sum(t.ca for t in c.tcp) for c in dt), 8, 40),
        between(
            "RED: difference of the bandwidths from those of table 2",
            np.abs(bandwidth[0] / bandwidth[1] - 1),
            0,
            0.1,
        ),
    ]


def variants(found: dict[int, phase.Column], shortest: list[float]) -> list[dict[str, Any]]:
    """A row for each start, drop-tail."""
    return [
        {
            "start": seed,
            "TCP1": c.bandwidths[0],
            "TCP2": c.bandwidths[1],
            "ratio": c.ratio,
            "ca1": c.tcp[0].ca,
            "ca2": c.tcp[1].ca,
            "timeouts1": c.tcp[0].timeouts,
            "rtt1": c.tcp[0].rtt,
            "rtt2": c.tcp[1].rtt,
            "link_delay": c.line.delay,
            "shortest_queue": least,
        }
        for (seed, c), least in zip(found.items(), shortest, strict=True)
    ]


@item(
    "M-T3",
    kind="SIM",
    title="Table 3: phase effects with a queue of 100 packets",
    choices={
        **phase.CHOICES,
        "about 1 s, about 3": "0.9 to 1.1 s; 2.7 to 3.7, which holds the 3.2 of the paper's tables",
        "shortest queue": "from the least round-trip time sample after the warm-up",
        "medians": "over 10 starts (40 with --full), which the paper does not state",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Drop-tail and RED at delta = 9.9 ms with several starts, and table 2 to compare with."""
    seeds = range(1, 41 if setting.full else 11)
    jobs = {
        (kind, limit, seed): phase.scenario(phase.queue(kind, limit), seed=seed)
        for limit in (LIMIT, t2.LIMIT)
        for kind in phase.QUEUES
        for seed in seeds
    }
    every = phase.columns(setting, jobs, "M-T3")
    by = {
        (kind, limit): [every[kind, limit, seed] for seed in seeds]
        for limit in (LIMIT, t2.LIMIT)
        for kind in phase.QUEUES
    }
    found = {kind: by[kind, LIMIT][0] for kind in phase.QUEUES}
    traces = samples(setting, seeds)
    shortest = [least_queue(t) for t in traces]
    rows = variants(dict(zip(seeds, by["drop-tail", LIMIT], strict=True)), shortest)
    notes = phase.lines(found)
    ratios, events = [r["ratio"] for r in rows], [r["ca1"] + r["ca2"] for r in rows]
    notes.append(
        f"{len(rows)} starts, drop-tail: TCP2/TCP1 {min(ratios):.2f} to {max(ratios):.2f}; CA events "
        f"of both {min(events)} to {max(events)}; shortest queue {min(shortest):.3g} to {max(shortest):.3g} "
        f"packets, at least 40 in {sum(x >= 40 for x in shortest)}"
    )
    figures = {"bandwidths": t2.picture(found, PAPER, LIMIT), "rtt": picture(traces[0])}
    tables = {"table": pa.table(phase.table(found)), "starts": pa.Table.from_pylist(rows)}
    return Outcome(checks(by, shortest), tables, figures, notes)


def picture(rtts: Samples) -> Figure:
    """Round-trip times over time: how long the queue's cycles are."""
    fig, axes = style.figure(
        "A long queue is never empty",
        f"Round-trip times over drop-tail with {LIMIT} packets at 800 kbit/s; dotted: no queue",
    )
    for i, (time, rtt) in enumerate(rtts):
        axes.plot(time - phase.WARM, rtt, label=phase.NAMES[i], **{**style.line(i), "linewidth": 1.1})
    axes.axhline(phase.minimum(phase.NEAR) / 1e3, color="#999999", linewidth=1, linestyle=(0, (2, 2)))
    axes.set(xlabel="time (s)", ylabel="round-trip time (s)", xlim=(0, SHOWN), ylim=(0, None))
    axes.grid(True)
    axes.legend(loc="lower right")
    return fig
