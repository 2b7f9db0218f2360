from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models.backoff2008 import dead_packets
from ackclock.plot import style
from ackclock.reproduce.backoff2008.e7_dead_packets import LOSSES
from ackclock.reproduce.item import Outcome, Setting, at_most, item, six_digits
from ackclock.results import Run

SHARES = (0.05, 0.25, 0.5, 1.0)
"""Shares of the load that go on to the second bottleneck, which are simulated."""
DEAD = 5000
"""Dead packets that a run shall have: their number then varies by 1.4 %."""
RATE, PACKET = 1e9, 1000


def scenario(share: float, p1: float, p2: float, dead: int, seed: int) -> ac.Scenario:
    """Two links, and a share of the load over both, for as long as so many dead packets take."""
    packets = dead / float(dead_packets(share, p1, p2))
    seconds = packets * PACKET * 8 / RATE
    links = [ac.Link("2Gbit/s", delay="1ms", queue="drop-tail", faults=ac.fault.Loss(p=p)) for p in (p1, p2)]
    loads = {"both": (share, "g2"), "one": (1 - share, "g1")}
    sources = [_source(name, part, end) for name, (part, end) in loads.items() if part > 0]
    return ac.Scenario.of(ac.Chain(links=links), sources, "sack", duration=f"{seconds:.9f}s", seed=seed)


def simulated(run: Run) -> float:
    """Packets that the second link drops, over those that the first one carried."""
    first, second = (
        next(row for row in run.links.to_pylist() if row["name"] == name) for name in ("hop1", "hop2")
    )
    return second["dropped_wire"] / first["packets"]


def _source(name: str, share: float, end: str) -> Any:
    return ac.Udp(name=name, rate=f"{share * RATE:.0f}bit/s", bytes=f"{PACKET}B", client="g0", server=end)


@item(
    "B-F8",
    kind="CF, SIM",
    title="Share of dead packets against the share of flows with two bottlenecks",
    choices={
        "simulation": "datagrams of 1000 bytes at a constant rate over two links, each of which loses "
        "packets at random after carrying them",
        "length": f"as long as {DEAD} dead packets take (ten times as many with --full)",
        "random numbers": "a seed of its own for each point",
        "within 5 %": "of each of the twelve points by itself",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Equation (7) over all shares, and simulations with fixed drops at four of them."""
    p1, p2 = np.array(LOSSES).T
    dead = 10 * DEAD if setting.full else DEAD
    points = [(share, a, b) for share in SHARES for a, b in LOSSES]
    runs = setting.run_all([scenario(*point, dead, seed) for seed, point in enumerate(points, 1)], "B-F8")
    rows = [
        {
            "share": share,
            "p1": a,
            "p2": b,
            "alpha": float(dead_packets(share, a, b)),
            "simulated": simulated(run),
        }
        for (share, a, b), run in zip(points, runs, strict=True)
    ]
    off = max(abs(row["simulated"] / row["alpha"] - 1) for row in rows)
    checks = [
        six_digits("alpha at a share of 0.05", dead_packets(0.05, p1, p2), [0.000495, 0.002375, 0.002475]),
        six_digits("alpha at a share of 1", dead_packets(1.0, p1, p2), [0.0099, 0.0475, 0.0495]),
        at_most("farthest simulation from equation (7) (%)", 100 * off, 5.0, "the tolerance"),
    ]
    return Outcome(checks, {"points": pa.Table.from_pylist(rows)}, {"dead-packets": picture(rows)})


def picture(rows: list[dict[str, Any]]) -> Figure:
    """Lines of equation (7), and the simulated points on them."""
    fig, axes = style.figure(
        "Dead packets at the first of two bottlenecks",
        "Lines: equation (7). Marks: simulations. Dotted: 5 % of flows",
    )
    x = np.linspace(0, 1, 101)
    with mpl.rc_context(style.SETTINGS):
        for i, (p1, p2) in enumerate(LOSSES):
            axes.plot(
                x, dead_packets(x, p1, p2), label=f"p1 = {100 * p1:g} %, p2 = {100 * p2:g} %", **style.line(i)
            )
            mine = [row for row in rows if (row["p1"], row["p2"]) == (p1, p2)]
            look = {
                "linestyle": "",
                "marker": "o",
                "markersize": 5,
                "fillstyle": "none",
                "color": style.COLOURS[i],
            }
            axes.plot([r["share"] for r in mine], [r["simulated"] for r in mine], **look)
        axes.axvline(0.05, color="#777777", linestyle=":", linewidth=1)
        axes.set(xlabel="share of the load that crosses both, L0/(L0 + L1)", xlim=(0, 1.02), ylim=(0, None))
        axes.set_ylabel("dead packets, share of the first bottleneck")
        axes.grid(True)
        axes.legend(loc="upper left", fontsize=9)
    return fig
