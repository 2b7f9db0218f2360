from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.plot import style
from ackclock.plot.bands import band
from ackclock.plot.ccdf import around, legend, points
from ackclock.quantities import seconds
from ackclock.results.quantity import RESPONSE_TIME

LIMITS = (0.01, 100.0)
"""The least range of the axis of times."""


def ccdf_panels(
    panels: Mapping[str, Mapping[str, Sequence[np.ndarray]]],
    *,
    title: str,
    subtitle: str,
    by: str = "stack",
) -> Figure:
    """Draws complementary distributions in panels side by side, on the same logarithmic axes; each name has
    one look in all of them.

    panels: by the panel's name, the series by name, an array for each run (seed). An infinite value is a flow
    that did not finish: it counts among those that took longer. Bands and legends are those of `ccdf_bands`.
    """
    names = list(dict.fromkeys(name for series in panels.values() for name in series))
    every = np.concatenate(
        [
            *(np.asarray(r, float) for series in panels.values() for runs in series.values() for r in runs),
            np.empty(0),
        ]
    )
    limits = around(every, LIMITS)
    with mpl.rc_context(style.SETTINGS):
        fig, all_axes = style.side_by_side(list(panels), 5.6, 5.2, title, subtitle)
        for axes, series in zip(all_axes, panels.values(), strict=True):
            for name, runs in series.items():
                _line(axes, names.index(name), name, [np.asarray(r, float) for r in runs])
            axes.set(xscale="log", yscale="log", xlim=limits, ylim=(1e-4, 1.25), xlabel=RESPONSE_TIME.label)
            axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
            axes.grid(True, which="major")
            axes.minorticks_on()
            legend(axes, by)
        all_axes[0].set_ylabel(RESPONSE_TIME.share)
    return fig


def _line(axes: Axes, i: int, name: str, runs: list[np.ndarray]) -> None:
    look = style.line(i)
    v = np.concatenate(runs)
    x, share = points(v)
    x, share = x[np.isfinite(x)], share[np.isfinite(x)]
    if not x.size:
        axes.plot([], [], label=f"{name}: nothing finished", **look)
        return
    unfinished = float(np.mean(~np.isfinite(v)))
    axes.step(np.append(x, x[-1]), np.append(share, max(unfinished, 1e-9)), where="pre", zorder=3, **look)
    if len(runs) > 1:
        shares, low, high = band([r[np.isfinite(r)] for r in runs])
        # Where many flows are unfinished, a band from the finished ones would mislead.
        shown = shares > 20 * unfinished
        axes.fill_betweenx(
            shares[shown], low[shown], high[shown], color=look["color"], alpha=0.1, linewidth=0, zorder=2
        )
    median, tail = np.quantile(v, [0.5, 0.99], method="inverted_cdf")
    axes.plot([], [], label=f"{name}   ({seconds(median)}, {seconds(tail)})", **look)
