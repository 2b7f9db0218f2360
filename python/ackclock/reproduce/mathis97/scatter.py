"""Figures of windows against loss on logarithmic axes, as the paper draws them: open markers for runs with
timeouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.models import mathis97 as m
from ackclock.plot import style


def figure(
    title: str,
    subtitle: str,
    xlabel: str = "p: window halvings per acknowledged packet",
    ylabel: str = "window (packets)",
) -> tuple[Figure, Axes]:
    """An empty figure with two logarithmic axes."""
    fig, axes = style.figure(title, subtitle)
    with mpl.rc_context(style.SETTINGS):
        axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
        axes.grid(True, which="major")
    return fig, axes


def points(
    axes: Axes, index: int, label: str, x: Iterable[float], y: Iterable[float], timeouts: Iterable[Any]
) -> None:
    """A group of runs; those with any timeout get open markers."""
    x, y, timed_out = np.asarray(list(x), float), np.asarray(list(y), float), np.asarray(list(timeouts), bool)
    colour = style.COLOURS[index % len(style.COLOURS)]
    look = {
        "marker": style.MARKERS[index % len(style.MARKERS)],
        "linestyle": "none",
        "color": colour,
        "markersize": 5.5,
    }
    axes.plot(x[~timed_out], y[~timed_out], label=label, **look)
    axes.plot(x[timed_out], y[timed_out], markerfacecolor="none", **look)


def power_law(axes: Axes, p: Sequence[float], c: float, k: float, label: str, **look: Any) -> None:
    """Equation (5), or (3) with k = -1/2, as a line between the least and the largest p."""
    at = np.geomspace(min(p), max(p), 50)
    axes.plot(at, m.power_law_window(at, c, k), label=label, **{"color": "#555555", "linewidth": 1.2, **look})


def ten(value: float, _: Any = None) -> str:
    """A tick's label without exponents."""
    return f"{value:g}"


def plain(axis: Any, ticks: Sequence[float]) -> None:
    """Labels in plain numbers at the ticks given."""
    axis.set_ticks(list(ticks), [f"{t:g}" for t in ticks])
    axis.set_minor_formatter(mpl.ticker.NullFormatter())
