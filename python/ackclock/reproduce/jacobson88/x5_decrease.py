from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_most, item
from ackclock.reproduce.jacobson88 import senders
from ackclock.reproduce.jacobson88.gateway import Gateway

RATE, DELAY = 1e6, 0.05
PIPE = 24
"""Packets that the path holds, the one being sent included."""
BUFFERS = (PIPE // 2, PIPE, 2 * PIPE)
DECREASES = {"0.5": 0.5, "7/8": 0.875}
FIRST, END = 60.0, 180.0
"""When the second transfer begins, and when the run ends, seconds."""
STEP, SMOOTH = 0.1, 50
"""Seconds between looks at the windows, and looks that a mean is taken over."""
FAIR = 0.45
"""Share of both windows at which the second has what is fair."""


def share(samples: pa.Table, begin: float) -> tuple[np.ndarray, np.ndarray]:
    """Times since the second transfer began, and its share of the two windows, a running mean over the last
    `SMOOTH` looks.
    """
    at = np.arange(begin + STEP, END, STEP)
    windows = []
    for connection in (0, 2):
        mine = samples.filter(
            pc.and_(pc.equal(samples["connection"], connection), pc.is_valid(samples["cwnd"]))
        )
        place = np.searchsorted(mine["time"].to_numpy(), at, "right") - 1
        windows.append(np.where(place >= 0, mine["cwnd"].to_numpy()[np.maximum(place, 0)], 0.0))
    first, second = (np.convolve(w, np.ones(SMOOTH) / SMOOTH, "valid") for w in windows)
    return at[SMOOTH - 1 :] - begin, second / (first + second)


def transition(setting: Setting, buffer: int, recovery: str, begins: list[float]) -> list[dict[str, Any]]:
    """Time until the shares are fair and packets lost until then, for each decrease and beginning of the
    second transfer.
    """
    windows = {name: senders.slow_start(decrease=d) for name, d in DECREASES.items()}
    stacks = {name: senders.new(8 * PIPE, recovery=recovery, window=w) for name, w in windows.items()}
    path = ac.Single(senders.line(RATE, DELAY, buffer))

    def scenario(begin: float) -> ac.Scenario:
        flows = [ac.Bulk(flows=1, name="first"), ac.Bulk(flows=1, name="second", start=f"{begin:.3f}s")]
        return ac.Scenario.of(path, flows, stacks, duration=f"{END:g}s", trace=["packets", "samples"])

    rows = []
    for begin, run in zip(
        begins, setting.run_all([scenario(begin) for begin in begins], "J-X5"), strict=True
    ):
        for name in stacks:
            samples = run.traces["samples"]
            t, s = share(samples.filter(pc.equal(samples["run"], name)), begin)
            fair = np.flatnonzero(s >= FAIR)
            until = float(t[fair[0]]) if fair.size else END - begin
            lost = Gateway.of(run.traces["segments"], name, DELAY).dropped
            losses = int(((lost >= begin) & (lost <= begin + until)).sum())
            rows.append(
                {
                    "d": name,
                    "buffer": buffer,
                    "recovery": recovery,
                    "begin": begin,
                    "time": until,
                    "lost": losses,
                    "t": t,
                    "share": s,
                }
            )
    return rows


@item(
    "J-X5",
    kind="SIM",
    title="Decrease by a half against seven eighths",
    choices={
        "packets": senders.CHOICES["packets"],
        "path": f"1 Mbit/s, {1e3 * DELAY:g} ms one way, a pipe of {PIPE} packets and as large a buffer "
        "(half and twice in the table)",
        "senders": "slow-start and avoidance with u = 1 and fast recovery, an ack for each packet "
        "(timeouts alone in the table)",
        "second transfer": f"begins at {FIRST:g} s and at 5 (29 with --full) other moments within the next "
        "10 s; means are compared",
        "fair": f"the second has {100 * FAIR:g} % of both windows, mean over {STEP * SMOOTH:g} s",
        "transition": "from its beginning until then",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """A second transfer joins a first one."""
    count = 30 if setting.full else 6
    begins = [FIRST + 10 * i / count for i in range(count)]
    rows = [r for buffer in BUFFERS for r in transition(setting, buffer, "newreno", begins)]
    rows += transition(setting, PIPE, "timeout-only", begins)

    def mean(d: str, column: str, buffer: int = PIPE, recovery: str = "newreno") -> float:
        return float(
            np.mean(
                [r[column] for r in rows if (r["d"], r["buffer"], r["recovery"]) == (d, buffer, recovery)]
            )
        )

    checks = [
        at_most(
            "time (s) to fair shares with d = 0.5",
            mean("0.5", "time"),
            mean("7/8", "time"),
            "shorter than with 7/8",
        ),
        at_most(
            "packets lost in the transition with d = 0.5",
            mean("0.5", "lost"),
            mean("7/8", "lost"),
            "fewer than with 7/8",
        ),
    ]
    notes = [
        (
            f"{words}, buffer {buffer}, d = {d}: {mean(d, 'time', buffer, recovery):.3g} s and "
            f"{mean(d, 'lost', buffer, recovery):.3g} packets lost"
        )
        for recovery, words, buffers in (
            ("newreno", "fast recovery", BUFFERS),
            ("timeout-only", "timeouts alone", (PIPE,)),
        )
        for buffer in buffers
        for d in DECREASES
    ]
    fig, axes = style.figure(
        "How fast a second transfer gets its share",
        f"1 Mbit/s, {1e3 * DELAY:g} ms one way; the mean over {count} start times",
    )
    for i, d in enumerate(DECREASES):
        mine = [r for r in rows if (r["d"], r["buffer"], r["recovery"]) == (d, PIPE, "newreno")]
        n = min(r["share"].size for r in mine)
        axes.plot(
            mine[0]["t"][:n],
            100 * np.mean([r["share"][:n] for r in mine], axis=0),
            label=f"window times {d} at a loss",
            **style.line(i),
        )
    axes.axhline(50, color="#999999", linewidth=1, linestyle=(0, (2, 2)))
    axes.set(
        xlabel="time since it began (s)",
        ylabel="share of the sum of both windows (%)",
        xlim=(0, 60),
        ylim=(0, 70),
    )
    axes.grid(True)
    axes.legend(loc="lower right")
    table = pa.Table.from_pylist([{k: v for k, v in r.items() if k not in ("t", "share")} for r in rows])
    return Outcome(checks, {"transitions": table}, {"share": fig}, notes)
