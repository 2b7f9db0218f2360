from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
from matplotlib.figure import Figure

from ackclock.plot import style

WIDE = 5
"""Values whose largest is so many times the smallest are drawn on a logarithmic axis."""


@dataclass(frozen=True)
class Worlds:
    """One strategy at several places of the x axis: by a formula, simulated and measured."""

    formula: tuple[np.ndarray, np.ndarray]
    """Places and values of a curve."""
    simulated: tuple[np.ndarray, np.ndarray, np.ndarray]
    """Places, means, and half of each mean's confidence interval."""
    measured: tuple[np.ndarray, np.ndarray, np.ndarray]
    """The same of what was measured."""


def world_panels(
    panels: Mapping[str, Mapping[str, Worlds]],
    *,
    title: str,
    subtitle: str,
    xlabel: str,
    ylabel: str,
    words: tuple[str, str, str],
) -> Figure:
    """Draws the same quantity by a formula (line), simulated (dashed, with a band) and measured (points, with
    bars), in panels side by side.

    panels: by the panel's name, strategies by name, each of which has one colour in all panels. words: what
    the legend calls the three.
    """
    names = list(dict.fromkeys(name for series in panels.values() for name in series))
    with mpl.rc_context(style.SETTINGS):
        fig, all_axes = style.side_by_side(list(panels), 5.0, 4.9, title, subtitle)
        for axes, series in zip(all_axes, panels.values(), strict=True):
            for name, worlds in series.items():
                colour = style.COLOURS[names.index(name) % len(style.COLOURS)]
                axes.plot(*worlds.formula, color=colour, linewidth=1.4, label=f"{name}: {words[0]}")
                x, mean, half = worlds.simulated
                axes.plot(
                    x,
                    mean,
                    color=colour,
                    linestyle=style.DASHES[1],
                    linewidth=1.2,
                    label=f"{name}: {words[1]}",
                )
                axes.fill_between(x, mean - half, mean + half, color=colour, alpha=0.15, linewidth=0)
                x, mean, half = worlds.measured
                axes.errorbar(
                    x,
                    mean,
                    yerr=half,
                    color=colour,
                    linestyle="none",
                    marker="o",
                    markersize=4.5,
                    capsize=3,
                    label=f"{name}: {words[2]}",
                )
            axes.set_xlabel(xlabel)
            axes.grid(True, which="major")
        every = np.concatenate(
            [
                means
                for series in panels.values()
                for w in series.values()
                for _, means, _ in (w.simulated, w.measured)
            ]
        )
        if every.max() > WIDE * every.min() > 0:
            all_axes[0].set_yscale("log")
            for axis in (all_axes[0].yaxis.set_major_formatter, all_axes[0].yaxis.set_minor_formatter):
                axis(mpl.ticker.FuncFormatter(lambda y, _: f"{y:g}"))
        else:
            all_axes[0].set_ylim(bottom=0)
        all_axes[0].set_ylabel(ylabel)
        all_axes[0].legend(loc="upper left", fontsize=8.5, handlelength=2.6)
    return fig
