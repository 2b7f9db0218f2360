from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, item, stated
from ackclock.reproduce.jacobson88 import senders
from ackclock.reproduce.jacobson88.gateway import Gateway
from ackclock.results import Run

RATE, DELAY, PIPE = 1e6, 0.05, 24
BUFFERS, BUFFER = (PIPE // 2, PIPE, 2 * PIPE), 2 * PIPE
DECREASES = (0.5, 0.875)
RECOVERIES = {"newreno": "fast recovery", "timeout-only": "timeouts alone"}
WARM = 30.0
"""Seconds that do not count."""
ADDITIVE, MULTIPLICATIVE = "additive", "multiplicative"


def scenario(flows: int, buffer: int, d: float, recovery: str, seconds: int) -> ac.Scenario:
    """Transfers with both increases."""
    windows = {
        ADDITIVE: senders.slow_start(decrease=d),
        MULTIPLICATIVE: senders.slow_start(decrease=d, increase_segs=0, increase_factor=1 / d),
    }
    stacks = {name: senders.new(8 * PIPE, recovery=recovery, window=w) for name, w in windows.items()}
    path = ac.Single(senders.line(RATE, DELAY, buffer))
    bulk = ac.Bulk(flows=flows, stagger="3s")
    return ac.Scenario.of(path, bulk, stacks, duration=f"{seconds}s", trace=["packets"])


def read(
    r: Run, flows: int, buffer: int, d: float, recovery: str, seconds: int
) -> tuple[list[dict[str, Any]], dict[str, Gateway]]:
    """Goodput and queue with both increases, and the gateways."""
    gateways = {name: Gateway.of(r.traces["segments"], name, DELAY) for name in (ADDITIVE, MULTIPLICATIVE)}
    rows = []
    for name, g in gateways.items():
        mean, variance, idle = g.statistics(WARM, seconds)
        delivered = float(
            np.sum(r.flows.filter(pc.equal(r.flows["stack"], name))["bytes_delivered"].to_numpy())
        )
        goodput = 8 * delivered / seconds / RATE * senders.PACKET / senders.DATA
        numbers = {
            "goodput": goodput,
            "queue": mean,
            "variance": variance,
            "idle": idle,
            "dropped": len(g.dropped),
        }
        rows.append(
            {"flows": flows, "buffer": buffer, "d": d, "recovery": recovery, "increase": name, **numbers}
        )
    return rows, gateways


@item(
    "J-X4",
    kind="SIM",
    title="Multiplicative increase is wrong",
    choices={
        "packets": senders.CHOICES["packets"],
        "increase": "additive by one packet for each round trip, or multiplicative by b = 1/d; slow-start "
        "up to the threshold in both",
        "path": f"1 Mbit/s, {1e3 * DELAY:g} ms one way, a pipe of {PIPE} packets and buffers of half as "
        "many, as many and twice as many, which all decide",
        "d": "0.5 (7/8 in the table)",
        "repair": "fast recovery, and timeouts alone, which both decide; an ack for each packet",
        "queue": f"packets at the gateway, the one being sent included, from {WARM:g} s on; 150 s (1000 s "
        "with --full)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """One flow and two with either increase."""
    rows: list[dict[str, Any]] = []
    seconds = 1000 if setting.full else 150
    cases = list(product((1, 2), BUFFERS, DECREASES, RECOVERIES))
    for case, run in zip(
        cases, setting.run_all([scenario(*case, seconds) for case in cases], "J-X4"), strict=True
    ):
        found, gateways = read(run, *case, seconds)
        rows += found
        if case == (2, BUFFER, 0.5, "newreno"):
            figure = picture(gateways)
    checks = []
    for flows in (1, 2):
        said = [
            (a, m) for a, m in zip(rows[::2], rows[1::2], strict=True) if (a["flows"], a["d"]) == (flows, 0.5)
        ]
        words = f"{flows} flow{'s' * (flows > 1)}, three buffers, both repairs"
        checks += [
            stated(
                f"{words}: goodput with additive increase is above that with multiplicative",
                "; ".join(f"{a['goodput']:.3f} and {m['goodput']:.3f}" for a, m in said),
                all(a["goodput"] > m["goodput"] for a, m in said),
            ),
            stated(
                f"{words}: variance of the queue with additive increase is below that with multiplicative",
                "; ".join(f"{a['variance']:.0f} and {m['variance']:.0f}" for a, m in said),
                all(a["variance"] < m["variance"] for a, m in said),
            ),
        ]
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    better = sum(a["goodput"] > m["goodput"] for a, m in pairs)
    steadier = [(a, m) for a, m in pairs if a["variance"] < m["variance"]]
    spread = sum(a["variance"] / a["queue"] ** 2 < m["variance"] / m["queue"] ** 2 for a, m in pairs)
    notes = [
        f"Of {len(pairs)} combinations of flows, buffer, d and repair additive increase has more "
        f"goodput in {better}, a lower variance of the queue in {len(steadier)} and a lower one for its "
        f"mean squared in {spread}",
        "The variance is not lower where multiplicative increase leaves the queue empty most of the time",
    ]
    notes += [
        (
            f"{r['flows']} flows, buffer {r['buffer']}, d = {r['d']:g}, {RECOVERIES[r['recovery']]}, "
            f"{r['increase']}: goodput {r['goodput']:.3f}, queue {r['queue']:.1f} with variance "
            f"{r['variance']:.1f}, {r['dropped']} dropped"
        )
        for r in rows
        if r["recovery"] == "newreno"
    ]
    return Outcome(checks, {"combinations": pa.Table.from_pylist(rows)}, {"queue": figure}, notes)


def picture(gateways: dict[str, Gateway]) -> Figure:
    """The queue over time."""
    fig, axes = style.figure(
        "The queue with either increase",
        f"Two flows, 1 Mbit/s, a pipe of {PIPE} packets and a buffer of {BUFFER}",
    )
    for i, (name, g) in enumerate(reversed(gateways.items())):
        t = g.moments(WARM, WARM + 30)
        look = {**style.line(1 - i), "linewidth": 1.2, "linestyle": "-"}
        axes.step(t, g.queue(t), where="post", label=f"{name} increase", **look)
    axes.set(xlabel="time (s)", ylabel="packets at the gateway", ylim=(0, BUFFER * 1.25))
    axes.grid(True)
    axes.legend(loc="upper right", ncols=2)
    return fig
