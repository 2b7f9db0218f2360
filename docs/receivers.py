"""Draws docs/images/receivers.png: what receivers that cheat gain, by stack of their sender.
`python docs/receivers.py [--quick]`
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

import ackclock as ac
from ackclock.plot import style

IMAGE = Path(__file__).parent / "images" / "receivers.png"
RATE, RTT, MSS = "20Mbit/s", "40ms", 1460
PARTS = (1, 2, 4, 8, 16, 32, 64)
REPEATS = (0, 1, 2, 4, 8, 16)
AHEAD = (0, 2, 4, 8, 16, 32)
"""Acks for a segment, duplicate acks after each ack, segments acknowledged before they arrive."""
DIVIDED = {
    "window by acks (sack+per-ack)": "sack+per-ack",
    "window by bytes (sack)": "sack",
    "cubic": "cubic",
}
REPEATED = {"without SACK (newreno)": "newreno", "with SACK (sack)": "sack"}
SEEDS, SECONDS = (1, 2, 3, 4), 60


def beside(stack: str, cheat: dict[str, Any], seed: int, seconds: float = SECONDS) -> ac.Scenario:
    """An honest receiver and one that cheats, each with an endless download over the same bottleneck."""
    # A way back on which thousands of acks stand in nobody's way.
    back = ac.Link("1Gbit/s", queue=ac.DropTail(limit="10000packets"))
    path = ac.Dumbbell(bottleneck=ac.Link(RATE, queue=ac.DropTail(limit="1bdp")), back=back, rtt=RTT)
    flows = [
        ac.Bulk(name="honest", stack="honest", spread="1s"),
        ac.Bulk(name="cheats", stack="cheats", spread="1s"),
    ]
    honest = ac.Stack(stack, ack="every")
    stacks = {"honest": honest, "cheats": honest.but(ack=ac.ack.Misbehaving(**cheat))}
    return ac.Scenario.of(
        path, flows, stacks, seed=seed, duration=f"{seconds:g}s", warmup=f"{seconds / 6:g}s"
    )


def share(run: Any) -> float:
    """Per cent of what both received that went to the one that cheats."""
    got = {row["stack"]: row["bytes_delivered"] for row in run.flows.to_pylist()}
    return 100 * got["cheats"] / sum(got.values())


def shares(
    stacks: dict[str, str],
    key: str,
    values: Sequence[int],
    seeds: Sequence[int] = SEEDS,
    seconds: float = SECONDS,
) -> dict[str, np.ndarray]:
    """By stack, the share for each value and seed."""
    cases = [(name, value, seed) for name in stacks for value in values for seed in seeds]
    runs = ac.sweep.run_all(
        [beside(stacks[name], {key: value}, seed, seconds) for name, value, seed in cases]
    )
    found = np.array([share(run) for run in runs]).reshape(len(stacks), len(values), len(seeds))
    return dict(zip(stacks, found, strict=True))


def times(stack: str = "sack", ahead: Sequence[int] = AHEAD) -> np.ndarray:
    """Seconds that 300 kB take over the idle path, by segments acknowledged early."""
    path = ac.Dumbbell(bottleneck=ac.Link(RATE, queue=ac.DropTail(limit="10bdp")), rtt=RTT)
    wanted = []
    for segments in ahead:
        tcp = ac.Stack(stack, ack=ac.ack.Misbehaving(ahead=f"{segments * MSS}B"))
        wanted.append(ac.Scenario.of(path, ac.Fixed(size="300kB"), {"tcp": tcp}, duration="20s"))
    return np.array([run.flows.to_pylist()[0]["response_time"] for run in ac.sweep.run_all(wanted)])


def draw(seeds: Sequence[int], seconds: float) -> None:
    """The figure."""
    with mpl.rc_context(style.SETTINGS):
        fig = style.PlainFigure(figsize=(12, 4.0), layout="constrained")
        style.FigureCanvasAgg(fig)
        axes = fig.subplots(1, 3)
        panels = [
            (axes[0], DIVIDED, "divide", PARTS, "acks for each segment (1: honest)", "Divided acks"),
            (axes[1], REPEATED, "repeat", REPEATS, "copies of each ack (0: honest)", "Forged acks"),
        ]
        for ax, stacks, key, values, label, title in panels:
            for i, (name, found) in enumerate(shares(stacks, key, values, seeds, seconds).items()):
                mean = found.mean(axis=1)
                look = {**style.line(i), "marker": "o", "markersize": 4, "capsize": 3}
                ax.errorbar(range(len(values)), mean, found.std(axis=1), label=name, **look)
                shown = ", ".join(f"{v}: {m:.0f} %" for v, m in zip(values, mean, strict=True))
                print(f"{title}, {name}: {shown}")
            ax.axhline(50, color="0.6", linewidth=0.8)
            ax.set(ylim=(0, 100), ylabel="share of the bottleneck that the cheat gets (%)")
            ax.legend(fontsize=9)
            label_places(ax, values, label, title)
        found = 1e3 * times()
        shown = ", ".join(f"{a}: {t:.0f} ms" for a, t in zip(AHEAD, found, strict=True))
        print(f"Early acks: {shown}")
        axes[2].plot(range(len(AHEAD)), found, marker="o", markersize=4, **style.line(0))
        axes[2].set(ylim=(0, 420), ylabel="time of a download of 300 kB (ms)")
        label_places(axes[2], AHEAD, "segments acknowledged before they arrive", "Early acks")
        fig.savefig(IMAGE, dpi=110, metadata={"Software": None})


def label_places(ax: Axes, values: Sequence[int], label: str, title: str) -> None:
    """Writes the values under their places, which are apart evenly, and a panel's title."""
    ax.set_xticks(range(len(values)), [str(v) for v in values])
    ax.set_xlabel(label)
    ax.set_title(title, fontsize=11)
    ax.grid(True)


if __name__ == "__main__":
    if set(sys.argv[1:]) - {"--quick"}:
        sys.stderr.write("docs/receivers.py takes no argument but `--quick`, for one seed instead of four.\n")
        sys.exit(2)
    draw(SEEDS[:1] if "--quick" in sys.argv else SEEDS, SECONDS)
