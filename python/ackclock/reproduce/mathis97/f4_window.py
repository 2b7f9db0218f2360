from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.reproduce.item import Outcome, Setting, between, item, stated, within
from ackclock.reproduce.mathis97 import f3_bandwidth, lossy, scatter, ten

SMALL = 1e-4
SEEDS, QUICK_SEEDS = 10, 3
"""Of the runs that look for the first timeout: how many runs are looked at decides where it is."""


def timed_out(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At each loss the runs, and those of them with timeouts."""
    losses = sorted({r["loss"] for r in rows})
    found = []
    for p in losses:
        mine = [r for r in rows if r["loss"] == p]
        found.append({"loss": p, "runs": len(mine), "with_timeouts": sum(r["timeouts"] > 0 for r in mine)})
    return found


def early(setting: Setting) -> list[dict[str, Any]]:
    """Every path once at the losses about the first timeout, with several seeds."""
    losses = [p for p in lossy.grid(3e-5, 0.3, 17) if 8e-4 < p < 0.04]
    return lossy.measure(
        setting,
        [
            lossy.Case(f3_bandwidth.ROW, p, one_way, mss, seed)
            for seed in range(1, SEEDS + 1 if setting.full else QUICK_SEEDS + 1)
            for p in losses
            for one_way in lossy.DELAYS
            for mss in lossy.SIZES
        ],
        "first timeouts",
    )


def first_timeouts(rows: list[dict[str, Any]]) -> list[float]:
    """The least loss at which a run has a timeout, for each seed: as the paper drew it, every path once."""
    found = []
    for seed in sorted({r["seed"] for r in rows}):
        losses = [r["loss"] for r in rows if r["seed"] == seed and r["timeouts"]]
        found.append(min(losses, default=float("nan")))
    return found


@item(
    "M-F4",
    kind="SIM",
    title="The same as windows against p",
    choices={
        **f3_bandwidth.CHOICES,
        "first timeout": "of fifteen runs at each loss, every path once, as the figure has them; the "
        "median over "
        f"{SEEDS} seeds ({QUICK_SEEDS} without --full), since the more runs, the sooner one has a timeout",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """BW RTT/MSS against p: every path on one line."""
    rows = [r for r in f3_bandwidth.runs(setting) if r["p"] > 0]
    low = [r for r in rows if r["p"] < 5e-4 and not r["timeouts"]]
    # C at 1e-4 by a line through the runs about it.
    near = ten.fits(low)[1]
    c = float(near.window(SMALL)) * np.sqrt(SMALL)
    steps = timed_out(rows)
    shares = [s["with_timeouts"] / s["runs"] for s in steps]
    first = first_timeouts(early(setting))
    checks = [
        within("C at p = 1e-4", c, 0.90, 0.05),
        between(
            "loss at which the first run has a timeout, median over the seeds",
            float(np.median(first)),
            0.005,
            0.03,
        ),
        stated(
            "share of runs with timeouts never falls as loss rises",
            ", ".join(f"{s['loss']:g}: {x:.2f}" for s, x in zip(steps, shares, strict=True)),
            all(b >= a for a, b in itertools.pairwise(shares)),
        ),
    ]
    three, five = ten.fits(rows)
    notes = [
        "loss at which the first run of every path once has a timeout, by seed: "
        + ", ".join(f"{p:g}" for p in first),
        f"runs without timeouts: N = {three.n}, C = {three.c:.3f} by equation (3); C = {five.c:.3f}, k "
        f"= {five.k:.3f} by equation (5)",
        f"runs of all sizes and delays together lie {100 * five.spread:.1f} % about equation (5)",
    ]
    subtitle = "FACK-RH, delayed acks, random loss, no queue; open markers: runs with timeouts"
    fig, axes = scatter.figure(
        "Windows against loss",
        subtitle,
        "p: packets lost over packets sent",
        "BW RTT/MSS (packets)",
    )
    p = [r["p"] for r in rows]
    scatter.power_law(axes, p, 1.0, -0.5, "C = 1")
    for i, one_way in enumerate(lossy.DELAYS):
        mine = [r for r in rows if r["one_way"] == one_way]
        scatter.points(
            axes,
            i,
            f"{one_way * 1e3:g} ms one way",
            [r["p"] for r in mine],
            [r["window"] for r in mine],
            [r["timeouts"] for r in mine],
        )
    axes.legend(loc="best", fontsize=9)
    return Outcome(
        checks, {"runs": lossy.table(rows), "timeouts": pa.Table.from_pylist(steps)}, {"windows": fig}, notes
    )
