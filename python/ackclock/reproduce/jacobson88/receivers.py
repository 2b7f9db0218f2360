"""How the receiver's acks bear on speed and loss: what J-F9 and J-X10 measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ackclock.plot import style
from ackclock.results import Run
from ackclock.results.transfer import Transfer


@dataclass(frozen=True)
class Effect:
    """Four conversations, two with each receiver. speed: of those with the new one over that of the others.
    loss: share of packets retransmitted.
    """

    speed: float
    loss_old: float
    loss_new: float
    share: float

    @staticmethod
    def of(run: Run) -> Effect:
        """Reads the flows of a run with the stacks `4.3BSD` and `4.3+BSD`."""
        return Effect.of_rows(run.flows.to_pylist())

    @staticmethod
    def of_rows(rows: list[dict[str, Any]]) -> Effect:
        """The same from the rows."""
        groups = {label: [r for r in rows if r["stack"] == label] for label in ("4.3BSD", "4.3+BSD")}
        speed = {label: np.mean([r["goodput"] for r in group]) for label, group in groups.items()}
        loss = {label: resent(group) for label, group in groups.items()}
        return Effect(
            float(speed["4.3+BSD"] / speed["4.3BSD"]), loss["4.3BSD"], loss["4.3+BSD"], resent(rows)
        )

    @staticmethod
    def summary(all_runs: list[Effect]) -> dict[str, float]:
        """Several runs in a row of a table; the ratio of losses is that of their means, since single runs may
        lose nothing.
        """
        speed, old, new = (
            np.array([getattr(e, name) for e in all_runs]) for name in ("speed", "loss_old", "loss_new")
        )
        return {
            "runs": len(all_runs),
            "share": float(np.mean([e.share for e in all_runs])),
            "speed": float(np.median(speed)),
            "speed_min": float(speed.min()),
            "speed_max": float(speed.max()),
            "loss_old": float(old.mean()),
            "loss_new": float(new.mean()),
            "loss_ratio": float(old.mean() / new.mean()) if new.mean() else float("inf"),
            "loss_reached": int((old >= 3.6 * np.maximum(new, 1e-9)).sum()),
        }

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Such a row as text."""
        return (
            f"{row['reading']}: {100 * row['share']:.2f} % retransmitted; speed new/old {row['speed']:.2f} "
            f"({row['speed_min']:.2f} to {row['speed_max']:.2f}); loss old {100 * row['loss_old']:.2f} "
            f"%, new {100 * row['loss_new']:.2f} %, ratio {row['loss_ratio']:.2f}"
        )


def where(
    rows: list[dict[str, Any]], marked: dict[str, dict[str, Any]], paper: tuple[float, float], subtitle: str
) -> Figure:
    """Each reading by its two ratios, with the paper's measurement among them; some of them marked by
    name.
    """
    fig, axes = style.figure("Old and new receivers: speed and loss", subtitle)
    with mpl.rc_context(style.SETTINGS):
        axes.axhline(1, color="#bbbbbb", linewidth=0.9, zorder=1)
        axes.axvline(1, color="#bbbbbb", linewidth=0.9, zorder=1)
        for i, (name, row) in enumerate(marked.items()):
            spread = [[row["speed"] - row["speed_min"]], [row["speed_max"] - row["speed"]]]
            look = {
                "color": style.COLOURS[i],
                "marker": "osD"[i % 3],
                "markersize": 7,
                "capsize": 2.5,
                "linewidth": 1.0,
            }
            axes.errorbar(
                [row["speed"]], [row["loss_ratio"]], xerr=spread, label=name, zorder=3, linestyle="", **look
            )
        others = [r for r in rows if all(r is not m for m in marked.values())]
        at = [r["speed"] for r in others], [r["loss_ratio"] for r in others]
        axes.plot(*at, "o", color="#999999", markersize=4, linestyle="", label="other readings", zorder=2)
        axes.plot(
            *([v] for v in paper),
            "*",
            color="#000000",
            markersize=13,
            linestyle="",
            label="the paper",
            zorder=4,
        )
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="speed, new receivers over old ones",
            ylabel="loss, old receivers over new ones",
        )
        for axis, at in (
            (axes.xaxis, [0.6, 0.8, 1, 1.2, 1.5, 1.8, 2.2, 3]),
            (axes.yaxis, [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5]),
        ):
            axis.set_major_locator(mpl.ticker.FixedLocator(at))
            axis.set_major_formatter(mpl.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
            axis.set_minor_locator(mpl.ticker.NullLocator())
        axes.grid(True)
        fig.legend(loc="outside lower left", ncols=1, fontsize=8.5)
    return fig


def resent(rows: list[dict[str, Any]]) -> float:
    """Retransmissions among the packets that some flows sent."""
    return sum(r["retransmitted_segments"] for r in rows) / sum(r["data_segments_sent"] for r in rows)


def packets_per_ack(run: Run, flow: int) -> float:
    """Data packets that the receiver of a flow took for each ack that it sent, in a traced run."""
    table = run.traces["segments"]
    rows = table.filter(pc.equal(table["connection"], 2 * flow + 1))
    data = rows.filter(pc.and_(pc.invert(rows["sent"]), pc.greater(rows["len"], 0))).num_rows
    acks = rows.filter(pc.and_(rows["sent"], pc.equal(rows["kind"], "ack"))).num_rows
    return data / acks


def burst(t: Transfer) -> float:
    """Packets sent at the same moment as a packet, itself included, on average over packets."""
    _, sizes = np.unique(t.time, return_counts=True)
    return float((sizes**2).sum() / sizes.sum())
