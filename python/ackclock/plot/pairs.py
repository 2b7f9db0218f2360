from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
from matplotlib.figure import Figure

from ackclock.plot import style
from ackclock.plot.worlds import WIDE


@dataclass(frozen=True)
class Pair:
    """A quantity simulated and measured, each a mean and half of its confidence interval, and by a formula
    (NaN for none).
    """

    simulated: tuple[float, float]
    measured: tuple[float, float]
    formula: float


APART = 0.16
"""Of a row's height: between a row's two points and its middle."""


def pairs(
    panels: Mapping[str, Mapping[str, Pair]],
    *,
    title: str,
    subtitle: str,
    xlabel: str,
    words: tuple[str, str, str],
) -> Figure:
    """Draws what was simulated beside what was measured, a row for each name, in panels side by side.

    panels: by the panel's name, rows by name, the same in each, the first on top. words: what the legend
    calls simulated, measured and formula.
    """
    names = list(next(iter(panels.values())))
    with mpl.rc_context(style.SETTINGS):
        fig, all_axes = style.side_by_side(list(panels), 4.6, 1.6 + 0.42 * len(names), title, subtitle)
        y = np.arange(len(names))
        for axes, rows in zip(all_axes, panels.values(), strict=True):
            for i, (shift, marker) in enumerate(((-APART, "s"), (APART, "o"))):
                mean, half = np.array([(row.simulated, row.measured)[i] for row in rows.values()]).T
                axes.errorbar(
                    mean,
                    y + shift,
                    xerr=half,
                    color=style.COLOURS[i],
                    linestyle="none",
                    marker=marker,
                    markersize=5,
                    capsize=3,
                    label=words[i],
                )
            formula = [row.formula for row in rows.values()]
            axes.plot(
                formula, y, color="#000000", linestyle="none", marker="|", markersize=14, label=words[2]
            )
            axes.set_xlabel(xlabel)
            axes.grid(True, axis="x")
        all_axes[0].set_yticks(y, names)
        all_axes[0].set_ylim(len(names) - 0.5, -0.5)
        means = [
            mean
            for rows in panels.values()
            for row in rows.values()
            for mean, _ in (row.simulated, row.measured)
        ]
        if max(means) > WIDE * min(means) > 0:
            all_axes[0].set_xscale("log")
            all_axes[0].xaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
            all_axes[0].xaxis.set_minor_locator(mpl.ticker.NullLocator())
        else:
            all_axes[0].set_xlim(left=0)
        all_axes[0].xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
        # Where values grow from panel to panel, the first has room on the right.
        all_axes[0].legend(loc="upper right", fontsize=8.5)
    return fig
