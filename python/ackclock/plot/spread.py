from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from ackclock.plot import style


@dataclass(frozen=True)
class Measured:
    """A series of measured points: name, places, values, and half of the confidence interval of each value
    (or nothing).
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    half: np.ndarray | None = None
    look: int | None = None
    """Index of its look; by default that of its place."""


def measured(
    points: Sequence[Measured],
    lines: Sequence[tuple[str, np.ndarray, np.ndarray]] = (),
    *,
    title: str,
    subtitle: str = "",
    xlabel: str,
    ylabel: str,
    log: str = "",
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draws measured points, joined, with bands as wide as their confidence intervals, and thin grey lines of
    models beside them. A point whose interval is not known (a single run) is hollow.

    lines: name, places and values of each model. log: the axes that are logarithmic, such as `xy`. limits: of
    the y axis.
    """
    fig, axes = style.figure(title, subtitle)
    with mpl.rc_context(style.SETTINGS):
        for i, m in enumerate(points):
            look = style.line(i if m.look is None else m.look)
            order = np.argsort(m.x, kind="stable")
            x, y = np.asarray(m.x, float)[order], np.asarray(m.y, float)[order]
            axes.plot(x, y, label=m.name, marker="o", markersize=3.5, zorder=3, **look)
            if m.half is not None:
                half = np.asarray(m.half, float)[order]
                known = np.isfinite(half)
                axes.fill_between(
                    x, y - half, y + half, where=known, color=look["color"], alpha=0.15, linewidth=0, zorder=2
                )
                axes.plot(
                    x[~known],
                    y[~known],
                    "o",
                    markersize=3.5,
                    color=look["color"],
                    markerfacecolor="white",
                    zorder=4,
                )
        if any(m.half is not None and not np.isfinite(m.half).all() for m in points):
            axes.plot(
                [],
                [],
                "o",
                markersize=3.5,
                color="#777777",
                markerfacecolor="white",
                label="a single run: no interval",
            )
        for i, (name, x, y) in enumerate(lines):
            axes.plot(
                x,
                y,
                label=name,
                color="#777777",
                linewidth=1.1,
                linestyle=style.DASHES[i % len(style.DASHES)],
                zorder=1,
            )
        if "x" in log:
            axes.set_xscale("log")
        if "y" in log:
            axes.set_yscale("log")
        elif limits is None:
            axes.set_ylim(bottom=0)
        if limits is not None:
            axes.set_ylim(*limits)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.grid(True, which="major")
        axes.legend(loc="best", fontsize=9, handlelength=2.6)
    return fig


def measured_panels(
    panels: Mapping[str, Sequence[Measured]],
    *,
    title: str,
    subtitle: str = "",
    xlabel: str,
    ylabel: str,
    even: float | None = None,
) -> Figure:
    """Draws measured points at a few places, in panels side by side: the points of one place beside each
    other, each with a whisker as long as its confidence interval. A point without one (a single run) is
    hollow.

    panels: series by the panel's name; those of the same number have one look. even: a value that a line
    marks.
    """
    places = sorted({float(x) for series in panels.values() for m in series for x in m.x})
    with mpl.rc_context(style.SETTINGS):
        fig, all_axes = style.side_by_side(list(panels), 4.6, 4.6, title, subtitle)
        for axes, series in zip(all_axes, panels.values(), strict=True):
            if even is not None:
                axes.axhline(even, color="#777777", linewidth=1.1, zorder=1)
            for i, m in enumerate(series):
                color = style.line(i)["color"]
                x = np.array([places.index(float(x)) for x in m.x]) + (i - (len(series) - 1) / 2) * 0.18
                half = np.full(x.size, np.nan) if m.half is None else np.asarray(m.half, float)
                known = np.isfinite(half)
                axes.errorbar(
                    x[known],
                    np.asarray(m.y, float)[known],
                    half[known],
                    fmt=style.MARKERS[i % len(style.MARKERS)],
                    color=color,
                    markersize=5,
                    capsize=3,
                    label=m.name,
                    zorder=3,
                )
                axes.plot(
                    x[~known], np.asarray(m.y)[~known], "o", color=color, markerfacecolor="white", zorder=3
                )
            axes.set_xticks(range(len(places)), [f"{x:g}" for x in places])
            axes.set(xlabel=xlabel, xlim=(-0.5, len(places) - 0.5))
            axes.grid(True, which="major", axis="y")
        if any(m.half is None or not np.isfinite(m.half).all() for series in panels.values() for m in series):
            hollow = {"color": "#777777", "markerfacecolor": "white", "label": "a single run: no interval"}
            all_axes[-1].plot([], [], "o", **hollow)
        all_axes[-1].legend(loc="upper right", fontsize=9)
        all_axes[0].set_ylabel(ylabel)
        all_axes[0].set_ylim(bottom=0)
    return fig
