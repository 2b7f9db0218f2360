from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.reproduce.item import Outcome, Setting, at_least, item
from ackclock.reproduce.mathis97 import bottleneck, scatter

SUBTITLE = (
    "Reno, delayed acks, 1024-byte packets; drop-tail queues of 5 to 30 packets, 10 kbit/s to 10 "
    "Mbit/s, 60 ms"
)


def spread(rows: Iterable[dict[str, Any]], window: str) -> float:
    """Largest window sqrt(p) over the smallest."""
    c = [r[window] * r["p"] ** 0.5 for r in rows]
    return max(c) / min(c)


def picture(
    rows: list[dict[str, Any]],
    window: str,
    title: str,
    ylabel: str,
    above: float = 0.0,
    above_label: str = "",
) -> Figure:
    """Windows against loss, a group for each queue, beside equation (5), and so many times that if wanted."""
    fig, axes = scatter.figure(title, SUBTITLE, "p: packets lost over packets sent", ylabel)
    c, k = bottleneck.TABLE_4
    p = [r["p"] for r in rows]
    scatter.power_law(axes, p, c, k, f"{c:g} p^{k:g} (table 4)")
    if above:
        scatter.power_law(axes, p, above * c, k, above_label, linestyle=(0, (4, 2)))
    for i, queue in enumerate(bottleneck.QUEUES):
        mine = [r for r in rows if r["queue"] == queue]
        scatter.points(
            axes,
            i,
            f"queue of {queue} packets",
            [r["p"] for r in mine],
            [r[window] for r in mine],
            [r["timeouts"] for r in mine],
        )
    axes.legend(loc="best", fontsize=9)
    return fig


@item(
    "M-F5",
    kind="SIM",
    title="Drop-tail queue: windows by the round-trip time of propagation and copying",
    choices={**bottleneck.CHOICES, "round-trip time": "60 ms and the time that a packet takes on the line"},
)
def reproduce(setting: Setting) -> Outcome:
    """All bandwidths with all queues; the queueing delay is left out of the round-trip time."""
    rows = bottleneck.grid(setting, {"Reno": bottleneck.reno()}, "M-F5")
    by_propagation, measured = spread(rows, "propagation_window"), spread(rows, "window")
    checks = [
        at_least(
            "spread of window sqrt(p), largest over smallest",
            by_propagation,
            3 * measured,
            "at least 3 times that of M-F6",
        )
    ]
    ratios = [r["ratio"] for r in rows]
    notes = [
        f"bandwidth-delay product over queue: {max(ratios):.4f} to 1/{1 / min(ratios):.1f}",
        f"spread with the round-trip time measured by the connection (M-F6): {measured:.3f}",
    ]
    fig = picture(
        rows,
        "propagation_window",
        "Without the queue's delay the model does not fit",
        "BW RTT/MSS (packets), RTT without queue",
    )
    return Outcome(checks, {"runs": pa.Table.from_pylist(rows)}, {"windows": fig}, notes)
