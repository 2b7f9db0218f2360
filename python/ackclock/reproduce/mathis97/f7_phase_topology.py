from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Check, Outcome, Setting, item, within
from ackclock.reproduce.mathis97 import phase

LIMIT = 15
EQUAL = 1.25
"""Bandwidths that differ by less count as equal."""


def minima() -> list[Check]:
    """The least round-trip time of each source alone, as its connection measures it."""
    checks = []
    for i, delay in enumerate((phase.NEAR, phase.DELTA)):
        s = ac.Scenario.of(
            phase.path(phase.DELTA, phase.queue("drop-tail", LIMIT)),
            phase.flows()[i],
            {"tcp": phase.tcp(ack="every")},
            duration="20s",
            trace="samples",
        )
        samples = s.simulate(workers=1).traces["samples"]
        # The handshake's sample carries no data.
        rtt = samples.filter(pc.and_(pc.equal(samples["connection"], 0), pc.is_valid(samples["rtt"])))[
            "rtt"
        ].to_numpy()[1:]
        checks.append(
            within(
                f"least round-trip time (ms) of {phase.NAMES[i]}",
                1e3 * float(rtt.min()),
                phase.minimum(delay),
                1,
            )
        )
    return checks


def sweep(setting: Setting) -> list[dict[str, Any]]:
    """The ratio of bandwidths against delta, for each queue and several starts."""
    deltas = np.round(np.arange(0.1, 40.05, 0.1) if setting.full else np.arange(0.3, 25.1, 0.4), 1)
    seeds = range(1, 11 if setting.full else 5)
    jobs = {
        (kind, float(delta), seed): phase.scenario(phase.queue(kind, LIMIT), delta=float(delta), seed=seed)
        for kind in phase.QUEUES
        for delta in deltas
        for seed in seeds
    }
    found = phase.columns(setting, jobs, "M-F7", seconds=phase.SECONDS if setting.full else 200)
    return [
        {
            "queue": kind,
            "delta": delta,
            "seed": seed,
            "ratio": c.ratio,
            "TCP1": c.bandwidths[0],
            "TCP2": c.bandwidths[1],
            "timeouts1": c.tcp[0].timeouts,
            "timeouts2": c.tcp[1].timeouts,
        }
        for (kind, delta, seed), c in found.items()
    ]


@item(
    "M-F7",
    kind="SIM",
    title="Topology of phase effects, and where they come and go",
    choices={
        **phase.CHOICES,
        "sweep of delta": f"queue of {LIMIT} packets, 0.3 to 25 ms in steps of 0.4, 200 s, four starts "
        "(--full: 0.1 to 40 ms in steps of 0.1, 500 s, ten)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Round-trip times of each source alone; bandwidths of both for a range of delta."""
    rows = sweep(setting)
    notes = []
    for kind in phase.QUEUES:
        deltas, apart = means(rows, kind)
        equal = int((apart <= EQUAL).sum())
        gains = sum(r["ratio"] > 1 for r in rows if r["queue"] == kind)
        notes.append(
            f"{kind}: the larger bandwidth is {apart.min():.2f} (delta {deltas[apart.argmin()]:g} ms) "
            f"to {apart.max():.2f} times ({deltas[apart.argmax()]:g} ms) the smaller, mean over "
            f"starts; less than {EQUAL:g} times at {equal} of {deltas.size} values of delta; TCP2 has "
            f"more in {gains} of {sum(r['queue'] == kind for r in rows)} runs"
        )
    return Outcome(minima(), {"delta": pa.Table.from_pylist(rows)}, {"delta": picture(rows)}, notes)


def means(rows: list[dict[str, Any]], kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The larger bandwidth over the smaller by delta, geometric mean over the starts, since which connection
    gains depends on them.
    """
    deltas = sorted({r["delta"] for r in rows})
    logs = [
        np.mean([abs(np.log(r["ratio"])) for r in rows if (r["queue"], r["delta"]) == (kind, d)])
        for d in deltas
    ]
    return np.array(deltas), np.exp(logs)


def picture(rows: list[dict[str, Any]]) -> Figure:
    """The ratio against delta; below, how the difference of round-trip times lies to the service time."""
    fig, axes = style.figure(
        "Phase effects come and go with the delay of TCP2",
        f"Two SACK TCPs, queue of {LIMIT} packets; points: single runs; dotted: round trips differ by whole "
        "packet times",
    )
    top = max(r["delta"] for r in rows)
    for n in range(int(2 * (top - phase.NEAR) / phase.SERVICE) + 1):
        axes.axvline(
            phase.NEAR + n * phase.SERVICE / 2, color="#cccccc", linewidth=0.9, linestyle=(0, (2, 2))
        )
    axes.axhline(1, color="#999999", linewidth=0.9)
    for i, kind in enumerate(phase.QUEUES):
        mine = [r for r in rows if r["queue"] == kind]
        axes.plot(
            [r["delta"] for r in mine],
            [r["ratio"] for r in mine],
            ".",
            color=style.COLOURS[i],
            markersize=3,
            alpha=0.6,
        )
        axes.plot(*means(rows, kind), label=f"{kind}: larger over smaller, mean", **style.line(i))
    axes.plot([phase.DELTA], [648 / 133], "k*", markersize=11, label="the paper's table 2")
    axes.set(
        yscale="log",
        xlabel="delay of TCP2's access link, delta (ms)",
        ylabel="bandwidth of TCP2 over TCP1",
        xlim=(0, top),
    )
    axes.set_yticks([0.2, 0.5, 1, 2, 5, 10], ["0.2", "0.5", "1", "2", "5", "10"])
    axes.minorticks_off()
    axes.grid(True, axis="y")
    axes.legend(loc="upper right", fontsize=8.5, ncols=3, handlelength=1.8, columnspacing=1.2)
    return fig
