"""Draws docs/images/receivers.png: what receivers that cheat gain, by stack of their sender.
`python docs/receivers.py [--quick]`
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import ackclock as ac

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
    fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    panels = [
        (axes[0], DIVIDED, "divide", PARTS, "acks for each segment (1: honest)", "ACK division"),
        (
            axes[1],
            REPEATED,
            "repeat",
            REPEATS,
            "duplicate acks after each ack (0: honest)",
            "Forged duplicate acks",
        ),
    ]
    for ax, stacks, key, values, label, title in panels:
        for name, found in shares(stacks, key, values, seeds, seconds).items():
            ax.errorbar(
                range(len(values)), found.mean(axis=1), found.std(axis=1), marker="o", capsize=3, label=name
            )
            print(
                f"{title}, {name}: "
                + ", ".join(f"{v}: {m:.0f} %" for v, m in zip(values, found.mean(axis=1), strict=True))
            )
        ax.axhline(50, color="0.6", linewidth=0.8)
        ax.set(xticks=range(len(values)), xticklabels=values, ylim=(0, 100), xlabel=label, title=title)
        ax.set_ylabel("share of the bottleneck that the cheat gets (%)")
        ax.legend(fontsize="small")
    found = times()
    print(
        "Optimistic acks: " + ", ".join(f"{a}: {1e3 * t:.0f} ms" for a, t in zip(AHEAD, found, strict=True))
    )
    axes[2].plot(range(len(AHEAD)), 1e3 * found, marker="o")
    axes[2].set(xticks=range(len(AHEAD)), xticklabels=AHEAD, ylim=(0, 420), title="Optimistic acks")
    axes[2].set(xlabel="segments acknowledged before they arrive", ylabel="time of a 300 kB download (ms)")
    fig.savefig(IMAGE, dpi=110)


if __name__ == "__main__":
    if set(sys.argv[1:]) - {"--quick"}:
        sys.stderr.write("docs/receivers.py takes no argument but `--quick`, for one seed instead of four.\n")
        sys.exit(2)
    draw(SEEDS[:1] if "--quick" in sys.argv else SEEDS, SECONDS)
