from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ackclock.plot import style

BREAK = 4.0
"""How many times the usual distance of samples a line goes on for."""
MARKED = 25
"""Lines of at most so many points mark each of them."""
MARKS = ((0, (6, 3)), (0, (1, 2)), "-.")
GREYS = ("0.25", "0.6", "0.85", "0.4", "0.72", "0.95")
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "--")
"""Colours and hatches of stacked areas, which differ in grey too."""


@dataclass(frozen=True)
class Band:
    """The middle of many values over time, and the range that most of them are in."""

    words: str
    """What the middle is, such as `median of 100 flows`."""
    around: str
    """What the range is."""
    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Panel:
    """One pair of axes over time.

    x (s): of all lines. lines: values by name. bands: of many lines. levels: what to compare with: a value,
    or values at x, by name. marks: moments (s) with their words. stacked: areas on top of each other, by
    name. ylim: of the vertical axis; from 0 by default.
    """

    ylabel: str
    x: np.ndarray
    lines: Mapping[str, np.ndarray] = field(default_factory=dict)
    bands: Sequence[Band] = ()
    levels: Mapping[str, float | np.ndarray] = field(default_factory=dict)
    marks: Sequence[tuple[float, str]] = ()
    stacked: Mapping[str, np.ndarray] = field(default_factory=dict)
    name: str = ""
    ylim: tuple[float, float] | None = None
    empty: str = ""
    """What is written where there is nothing to draw."""
    joined: bool = False
    """Whether lines go on where a value is missing in between, if samples are mostly that far apart."""
    legend: bool = True
    """Whether it has a legend; one whose lines are those of the panel above needs none."""


def over_time(
    rows: Sequence[Sequence[Panel]],
    *,
    title: str,
    subtitle: str = "",
    until: float,
    heights: Sequence[float] = (),
) -> Figure:
    """Draws panels above each other, and side by side where a row has several, all over the same time (s).

    Every name has a colour and dashes of its own in each panel; the legend stands beside the last panel of
    its row, whose panels have the same names, so that it hides no line.
    """
    count, wide = len(rows), max(len(row) for row in rows)
    heights = list(heights) or [1.0] * count
    with mpl.rc_context(style.SETTINGS):
        fig = style.PlainFigure(
            figsize=(9.2 if wide == 1 else 12.0, 1.0 + (3.4 if count == 1 else 2.4) * sum(heights)),
            layout="constrained",
        )
        style.FigureCanvasAgg(fig)
        fig.suptitle(title, x=0.012, ha="left", fontsize=12, fontweight="bold")
        grid = fig.subplots(count, wide, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})
        for i, row in enumerate(rows):
            for j, panel in enumerate(row):
                axes = grid[i][j]
                draw(axes, panel)
                axes.set_xlim(0, until)
                if i == count - 1:
                    axes.set_xlabel("time (s)")
                if i == 0 and j == 0 and subtitle:
                    _subtitle(axes, subtitle, bool(panel.name))
                if j == len(row) - 1 and panel.legend:
                    _legend(axes)
    return fig


def joined(x: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points that have a value, in which a line goes on; it breaks in gaps of more than `BREAK` times the
    usual one, in which nothing was measured.
    """
    at = np.flatnonzero(np.isfinite(values))
    if at.size < 3:
        return x[at], values[at]
    apart = np.diff(at)
    after = np.flatnonzero(apart > BREAK * np.median(apart)) + 1
    return np.insert(x[at], after, x[at[after - 1] + 1]), np.insert(values[at], after, np.nan)


def draw(axes: Axes, panel: Panel) -> None:
    """Draws one panel."""
    few = panel.x.size <= MARKED
    for words, level in panel.levels.items():
        look = {"color": "#555555", "linewidth": 1.0, "linestyle": (0, (1, 1.5)), "zorder": 2.5}
        if isinstance(level, np.ndarray):
            axes.plot(panel.x, level, label=words, **look)
        else:
            axes.axhline(level, label=words, **look)
    for i, band in enumerate(panel.bands):
        look = style.line(i)
        axes.fill_between(
            panel.x, band.low, band.high, color=look["color"], alpha=0.2, linewidth=0, label=band.around
        )
        axes.plot(panel.x, band.middle, label=band.words, zorder=3, **look)
    for i, (name, values) in enumerate(panel.lines.items()):
        marker = {"marker": style.MARKERS[i % len(style.MARKERS)], "markersize": 3.5} if few else {}
        x, y = joined(panel.x, values) if panel.joined else (panel.x, values)
        axes.plot(x, y, label=name, linewidth=1.4, zorder=3, **style.line(i), **marker)
    if panel.stacked:
        below = np.zeros(panel.x.size)
        for i, (name, values) in enumerate(panel.stacked.items()):
            axes.fill_between(
                panel.x,
                below,
                below + values,
                step="mid",
                facecolor=GREYS[i % len(GREYS)],
                hatch=HATCHES[i % len(HATCHES)],
                edgecolor="0.1",
                linewidth=0.3,
                label=name,
            )
            below = below + values
    for i, (at, words) in enumerate(panel.marks):
        axes.axvline(
            at, color="#000000", linewidth=0.9, linestyle=MARKS[i % len(MARKS)], label=words, zorder=2
        )
    if panel.empty:
        axes.text(0.5, 0.5, panel.empty, transform=axes.transAxes, ha="center", va="center", color="#444444")
        axes.set_yticks([])
    axes.set_ylabel(panel.ylabel)
    if panel.ylim is not None:
        axes.set_ylim(*panel.ylim)
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(5))
    if panel.name:
        axes.set_title(panel.name, fontsize=10, fontweight="normal")
    axes.grid(True)


def _subtitle(axes: Axes, text: str, below_name: bool) -> None:
    axes.annotate(
        text,
        (0, 1),
        (0, 20 if below_name else 6),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=8.5,
        color="#444444",
    )


def _legend(axes: Axes) -> None:
    if axes.get_legend_handles_labels()[1]:
        axes.legend(
            loc="upper left",
            bbox_to_anchor=(1.005, 1.02),
            borderaxespad=0,
            fontsize=8.5,
            handlelength=3.2,
            labelspacing=0.35,
        )
