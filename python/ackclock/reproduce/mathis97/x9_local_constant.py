from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models import mathis97 as m
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, between, item
from ackclock.reproduce.mathis97 import bottleneck, scatter

LOW, HIGH = 0.005, 0.02
"""p."""


@item(
    "M-X9",
    kind="SIM",
    title="C near p = 0.01, read from the drop-tail runs",
    choices={
        **bottleneck.CHOICES,
        "which runs": f"those of M-F6 with p from {LOW:g} to {HIGH:g} and packets that take up to 200 ms; "
        "equation (3) fitted to them (M-U6)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Fits equation (3) to part of M-F6."""
    rows = bottleneck.grid(setting, {"Reno": bottleneck.reno()}, "M-X9")
    fast = [r for r in rows if not bottleneck.slow(r)]
    p, c, window, timeouts = (np.array([r[name] for r in fast]) for name in ("p", "c", "window", "timeouts"))
    near = (p >= LOW) & (p <= HIGH)
    fitted = m.fit(p[near], window[near], timeouts=timeouts[near], k=-0.5).c
    fig, axes = style.figure(
        "The constant C depends on the loss at which it is read",
        "Reno, drop-tail queues of 5 to 30 packets, packet times up to 200 ms; grey: where C is fitted",
    )
    axes.axvspan(LOW, HIGH, color="#eeeeee")
    axes.axhline(
        fitted,
        color="#555555",
        linewidth=1.2,
        linestyle=(0, (4, 2)),
        label=f"C = {fitted:.3f} in the grey range",
    )
    for i, queue in enumerate(bottleneck.QUEUES):
        mine = [r for r in fast if r["queue"] == queue]
        scatter.points(
            axes,
            i,
            f"queue of {queue} packets",
            [r["p"] for r in mine],
            [r["c"] for r in mine],
            [r["timeouts"] for r in mine],
        )
    axes.set(
        xscale="log",
        xlabel="p: packets lost over packets sent",
        ylabel="C = window x sqrt(p)",
        ylim=(0.6, 1.0),
    )
    axes.grid(True)
    axes.legend(loc="best", fontsize=9)
    checks = [between(f"C from {near.sum()} runs with p from {LOW:g} to {HIGH:g}", fitted, 0.75, 0.90)]
    notes = [
        f"they lie between {c[near].min():.3f} and {c[near].max():.3f}; all runs between {c.min():.3f} "
        f"and {c.max():.3f}"
    ]
    return Outcome(checks, {"runs": pa.Table.from_pylist(rows)}, {"constant": fig}, notes)
