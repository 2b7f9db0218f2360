from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_most, exactly, item
from ackclock.reproduce.jacobson88 import senders
from ackclock.reproduce.jacobson88.gateway import Gateway

RATE, DELAY = 56_000, 0.16
BUFFER = 5
"""Packets: as many as the pipe holds, so that the window at the drop is twice the pipe."""
BUFFERS = (3, 4, 5, 6, 8, 12)
RECOVERIES = {
    "newreno": "half of the window (fast recovery)",
    "timeout-only": "one packet (slow-start after a timeout)",
}
ROUND = 2 * DELAY + 8 * senders.PACKET / RATE
"""Seconds around the empty path, a packet's sending time included."""


def run(setting: Setting, buffer: int, recovery: str, seconds: int) -> tuple[Gateway, pa.Table, np.ndarray]:
    """The gateway, the sender's episodes and its sending times in one run."""
    path = ac.Single(senders.line(RATE, DELAY, buffer))
    stack = senders.new(64, recovery=recovery)
    r = ac.simulate(
        path,
        ac.Bulk(flows=1),
        {"new": stack},
        duration=f"{seconds}s",
        trace=["packets", "episodes"],
        workers=setting.workers,
    )
    mine = {k: t.filter(pc.equal(t["connection"], 0)) for k, t in r.traces.items()}
    sent = (
        mine["segments"]
        .filter(pc.and_(mine["segments"]["sent"], pc.greater(mine["segments"]["len"], 0)))["time"]
        .to_numpy()
    )
    return Gateway.of(r.traces["segments"], "new", DELAY), mine["episodes"], sent


def recoveries(
    gateway: Gateway, episodes: pa.Table, sent: np.ndarray, since: float
) -> list[dict[str, float]]:
    """Each recovery from a single drop: from the drop until all that was outstanding when it was noticed is
    acknowledged.
    """
    rows, before = [], 0.0
    for begin, end in zip(episodes["begin"].to_pylist(), episodes["end"].to_pylist(), strict=True):
        drops = gateway.dropped[(gateway.dropped >= before) & (gateway.dropped <= (end or begin))]
        before = end or before
        if end is None or begin < since or drops.size != 1:
            continue
        drop = drops[0]
        times = gateway.moments(drop, end)
        near = sent[(sent >= drop) & (sent <= end + 2 * ROUND)]
        rows.append(
            {
                "drop (s)": drop,
                "end (s)": end,
                "least queue": float(gateway.queue(times).min()),
                "idle": gateway.statistics(drop, end)[2],
                "pause (round trips)": float(np.diff(near).max() / ROUND),
                "recovery (round trips)": (end - drop) / ROUND,
            }
        )
    return rows


def means(rows: list[dict[str, float]]) -> dict[str, float]:
    """Means over recoveries."""
    return {
        k: float(np.mean([r[k] for r in rows])) if rows else float("nan")
        for k in ("least queue", "idle", *SPANS)
    }


SPANS = ("pause (round trips)", "recovery (round trips)")


@item(
    "J-N7",
    kind="SIM",
    title="A sender that pauses empties the queue, which does not form again",
    choices={
        **{k: senders.CHOICES[k] for k in ("packets", "new TCP")},
        "path": f"{RATE / 1e3:g} kbit/s, {1e3 * DELAY:g} ms one way, a pipe of 5 packets; the buffer holds "
        "as many, other sizes in the table",
        "restart": "at half of the window (fast recovery), which is the size of the pipe; restart from one "
        "packet in the table",
        "recovery": "from the drop until everything outstanding when it is noticed is acknowledged; those "
        "with a single drop count",
        "least queue": "packets at the gateway, the one being sent included",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The queue while a sender recovers from one drop."""
    seconds = 3000 if setting.full else 600
    rows: list[dict[str, Any]] = []
    for name in RECOVERIES:
        for buffer in BUFFERS:
            found = recoveries(*run(setting, buffer, name, seconds), since=30.0)
            rows.append(
                {"restart at": RECOVERIES[name], "buffer": buffer, "recoveries": len(found), **means(found)}
            )
    gateway, episodes, sent = run(setting, BUFFER, "newreno", seconds)
    found = recoveries(gateway, episodes, sent, since=30.0)
    checks = [
        exactly(
            "least queue of each recovery (packets)", sorted({int(r["least queue"]) for r in found}), [0]
        ),
        at_most(
            "share of the recovery in which the link is idle, at most",
            max(r["idle"] for r in found),
            0.05,
            "below",
        ),
    ]
    notes = [
        (
            f"Restart at {r['restart at']}, buffer {r['buffer']}: least queue {r['least queue']:.2f}, idle "
            f"{100 * r['idle']:.1f} %, longest pause {r['pause (round trips)']:.2f} and recovery "
            f"{r['recovery (round trips)']:.2f} round trips of the empty path ({r['recoveries']} recoveries)"
        )
        for r in rows
    ]
    notes.append(
        "A window twice the pipe makes a loaded round trip two empty ones: the drop is noticed one "
        "loaded round trip after it happens"
    )
    return Outcome(
        checks,
        {"recoveries": pa.Table.from_pylist(found), "buffers": pa.Table.from_pylist(rows)},
        {"queue": picture(gateway, found)},
        notes,
    )


def picture(gateway: Gateway, found: list[dict[str, float]]) -> Figure:
    """The queue around one drop."""
    drop = found[len(found) // 2]["drop (s)"]
    t = gateway.moments(drop - 3 * ROUND, drop + 12 * ROUND)
    fig, axes = style.figure(
        "One drop, one pause, and the queue is gone",
        f"56 kbit/s, round trip {ROUND:.2f} s when empty, buffer as large as the pipe",
    )
    axes.step(
        (t - drop) / ROUND, gateway.queue(t), where="post", label="packets at the gateway", **style.line(0)
    )
    end = found[len(found) // 2]["end (s)"]
    axes.axvspan(0, (end - drop) / ROUND, color="#f0f0f0", zorder=0, label="recovery")
    axes.axvline(0, color=style.COLOURS[1], linewidth=1.2, linestyle=(0, (4, 2)), label="drop")
    axes.set(xlabel="round trips of the empty path since the drop", ylabel="packets", ylim=(0, None))
    axes.grid(True)
    axes.legend(loc="lower right")
    return fig
