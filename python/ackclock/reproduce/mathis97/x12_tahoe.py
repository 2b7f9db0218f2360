from __future__ import annotations

from typing import Any

import pyarrow as pa

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_most, item
from ackclock.reproduce.mathis97 import bottleneck, scatter, stock

PLACES = [(rate, queue) for rate in (1e6, 2e6, 5e6, 10e6) for queue in (5, 7, 10, 20)]
LEAST = 10
"""Bandwidth-delay product over queue from which a network counts as underbuffered."""
LEGEND = {
    "Tahoe, one hole per ack": "Tahoe that resends one hole for each ack",
    "Tahoe, threshold kept": "Tahoe that keeps ssthresh",
}


def readings() -> dict[str, ac.Stack]:
    """Reno, Tahoe, and what else may be meant by Tahoe (M-A3)."""
    tahoe = stock.tcp("tahoe", bottleneck.PACKET)
    one = ac.recovery.Tahoe(limited_transmit=False, go_back_n=False)
    keep = stock.window(keep_ssthresh=True)
    return {
        "Reno": bottleneck.reno(),
        "Tahoe": tahoe,
        "Tahoe, one hole per ack": tahoe.but(recovery=one),
        "Tahoe, threshold kept": tahoe.but(window=keep),
    }


def by_signals(row: dict[str, Any]) -> float:
    """Window sqrt(p) with CA events over acknowledged segments for p."""
    return float(row["window"] * row["p_ca"] ** 0.5)


@item(
    "M-X12",
    kind="SIM",
    title="Tahoe in an underbuffered network",
    choices={
        **bottleneck.CHOICES,
        "bandwidths": "1, 2, 5 and 10 Mbit/s",
        "queues": "5, 7, 10 and 20 packets",
        "Tahoe": "standard: half the window for a threshold, everything outstanding resent from the first "
        "loss, a second loss in it left to the timer; the figure has two more readings",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Reno and three Tahoes, queues down to a fifteenth of the bandwidth-delay product."""
    stacks = readings()
    rows = bottleneck.runs(setting, stacks, PLACES, "M-X12")
    reno = {(r["bandwidth"], r["queue"]): r for r in rows if r["stack"] == "Reno"}
    for r in rows:
        beside = reno[r["bandwidth"], r["queue"]]
        r["over_reno"] = r["c"] / beside["c"]
        r["over_reno_ca"] = by_signals(r) / by_signals(beside)
    small = [r for r in rows if r["ratio"] >= LEAST]
    checks = [
        at_most(
            f"window sqrt(p) of Tahoe over Reno's, {r['bandwidth'] / 1e6:g} Mbit/s, queue {r['queue']}",
            r["over_reno"],
            0.8,
            f"below, where the bandwidth-delay product is {r['ratio']:.1f} queues",
        )
        for r in small
        if r["stack"] == "Tahoe"
    ]
    notes = []
    for name in stacks:
        mine = [r for r in small if r["stack"] == name]
        words = "; ".join(
            (
                f"queue {r['queue']}: {r['over_reno']:.3f} of Reno's window sqrt(p), "
                f"{r['over_reno_ca']:.3f} with CA events for p, "
                f"{r['utilisation'] * 100:.0f} % of the line, {r['ca']} CA events, {r['timeouts']} timeouts, "
                f"{r['other']} other losses"
            )
            for r in mine
        )
        notes.append(f"{name}, 10 Mbit/s, {words}")
    fig, axes = style.figure(
        "Tahoe's window relative to Reno's where the queue is small",
        "Drop-tail, 60 ms, delayed acks; grey: expected right of the dotted line; open: runs with timeouts",
    )
    axes.axhspan(0, 0.8, xmin=0, color="#eeeeee")
    axes.axvline(LEAST, color="#999999", linewidth=1, linestyle=(0, (2, 2)))
    for i, name in enumerate(list(stacks)[1:]):
        mine = [r for r in rows if r["stack"] == name]
        scatter.points(
            axes,
            i,
            LEGEND.get(name, name),
            [r["ratio"] for r in mine],
            [r["over_reno"] for r in mine],
            [r["timeouts"] for r in mine],
        )
    axes.set(
        xscale="log",
        xlabel="bandwidth-delay product over queue",
        ylabel="window x sqrt(p), relative to Reno's",
        ylim=(0, None),
    )
    scatter.plain(axes.xaxis, [0.5, 1, 2, 5, 10, 15])
    axes.grid(True)
    axes.legend(loc="lower left", fontsize=9)
    return Outcome(checks, {"runs": pa.Table.from_pylist(rows)}, {"tahoe": fig}, notes)
