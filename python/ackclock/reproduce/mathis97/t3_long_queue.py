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

LIMIT = 100
PAPER = {"drop-tail": (244, 556), "RED": (401, 397)}
"""kbit/s."""
SHOWN = 300
"""Seconds in the figure."""


def samples(setting: Setting) -> list[tuple[np.ndarray, np.ndarray]]:
    """Time and round-trip time of each connection's samples after the warm-up, drop-tail."""
    s = phase.scenario(
        phase.queue("drop-tail", LIMIT), trace="samples", duration=f"{phase.WARM + phase.SECONDS}s"
    )
    found = s.simulate(workers=1).traces["samples"]
    found = found.filter(pc.and_(pc.is_valid(found["rtt"]), pc.greater(found["time"], phase.WARM)))
    out = []
    for connection in (0, 2):
        mine = found.filter(pc.equal(found["connection"], connection))
        out.append((mine["time"].to_numpy(), mine["rtt"].to_numpy()))
    return out


def least_queue(rtts: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """The shortest queue that a packet met, packets: what its round-trip time has above the least, over the
    service time.
    """
    least = [phase.minimum(d) for d in (phase.NEAR, phase.DELTA)]
    return min((1e3 * float(rtt.min()) - m) / phase.SERVICE for (_, rtt), m in zip(rtts, least, strict=True))


def checks(found: dict[str, phase.Column], short: dict[str, phase.Column], shortest: float) -> list[Check]:
    """The register's statements about table 3; `short` is table 2."""
    dt, red = found["drop-tail"], found["RED"]
    rtt, before = (float(np.mean([c.rtt for c in column.tcp])) for column in (dt, short["drop-tail"]))
    change = np.abs(np.array(red.bandwidths) / np.array(short["RED"].bandwidths) - 1)
    return [
        between("drop-tail: link delay (ms)", 1e3 * dt.line.delay, 700, 900),
        between("drop-tail: mean round-trip times (s), about 1", [c.rtt for c in dt.tcp], 0.9, 1.1),
        at_least("drop-tail: shortest queue (packets)", shortest, 40, "at least"),
        between("drop-tail: mean round-trip time over that of table 2, about 3", rtt / before, 2.7, 3.7),
        between("drop-tail: CA events of both", sum(c.ca for c in dt.tcp), 8, 40),
        between("RED: difference of the bandwidths from those of table 2", change, 0, 0.1),
    ]


def variants(setting: Setting, seeds: range) -> list[dict[str, Any]]:
    """Drop-tail with several starts."""
    jobs = {seed: phase.scenario(phase.queue("drop-tail", LIMIT), seed=seed) for seed in seeds}
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
        }
        for seed, c in phase.columns(setting, jobs, "M-T3").items()
    ]


@item(
    "M-T3",
    kind="SIM",
    title="Table 3: phase effects with a queue of 100 packets",
    choices={
        **phase.CHOICES,
        "about 1 s, about 3": "0.9 to 1.1 s; 2.7 to 3.7, which holds the 3.2 of the paper's tables",
        "shortest queue": "from the least round-trip time sample after the warm-up",
        "further starts": "10 (40 with --full), drop-tail",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Drop-tail and RED at delta = 9.9 ms, and table 2 to compare with."""
    jobs = {
        (kind, limit): phase.scenario(phase.queue(kind, limit))
        for limit in (LIMIT, t2.LIMIT)
        for kind in phase.QUEUES
    }
    both = phase.columns(setting, jobs, "M-T3")
    found, short = ({kind: both[kind, limit] for kind in phase.QUEUES} for limit in (LIMIT, t2.LIMIT))
    rtts = samples(setting)
    rows = variants(setting, range(1, 41 if setting.full else 11))
    notes = phase.lines(found)
    ratios, events = [r["ratio"] for r in rows], [r["ca1"] + r["ca2"] for r in rows]
    notes.append(
        f"{len(rows)} starts, drop-tail: TCP2/TCP1 {min(ratios):.2f} to {max(ratios):.2f}; CA events "
        f"of both {min(events)} to {max(events)}"
    )
    figures = {"bandwidths": t2.picture(found, PAPER, LIMIT), "rtt": picture(rtts)}
    tables = {"table": pa.table(phase.table(found)), "starts": pa.Table.from_pylist(rows)}
    return Outcome(checks(found, short, least_queue(rtts)), tables, figures, notes)


def picture(rtts: list[tuple[np.ndarray, np.ndarray]]) -> Figure:
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
