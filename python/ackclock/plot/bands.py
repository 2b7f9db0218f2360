from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.plot import style
from ackclock.plot.ccdf import around, legend, points
from ackclock.quantities import seconds
from ackclock.results.confidence import student
from ackclock.results.quantity import RESPONSE_TIME

LEVELS = 160
"""Number of points of a band."""


def band(runs: Sequence[np.ndarray], lowest: float = 1e-4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A band around the complementary distribution of all runs together: shares, and the times between which
    it lies with confidence `LEVEL`.

    At each share the band is as wide as the logarithms of the runs' quantiles make it. It ends at the share
    that one value of the smallest run is.
    """
    runs = [v[v > 0] for v in map(np.asarray, runs)]
    least = max(1.0 / max(min(v.size for v in runs), 1), lowest)
    shares = np.geomspace(1.0, least, LEVELS)
    all_of_them = np.log(np.quantile(np.concatenate(runs), 1 - shares))
    each = np.log([np.quantile(v, 1 - shares) for v in runs])
    spread = student(len(runs)) * each.std(axis=0, ddof=1) / np.sqrt(len(runs))
    return shares, np.exp(all_of_them - spread), np.exp(all_of_them + spread)


def ccdf_bands(
    series: Mapping[str, Sequence[np.ndarray]],
    *,
    title: str,
    subtitle: str = "",
    by: str = "stack",
) -> Figure:
    """Draws the share of response times (s) of at least x for each series, all its runs together, with a
    confidence band from the runs, on logarithmic axes.

    series: by name, an array for each run (seed). Each line is named in the legend with the median and the
    99th percentile.
    """
    every = np.concatenate([*(np.asarray(v, float) for runs in series.values() for v in runs), np.empty(0)])
    fig, axes = style.figure(title, subtitle)
    with mpl.rc_context(style.SETTINGS):
        for i, (name, runs) in enumerate(series.items()):
            _line(axes, i, name, [np.asarray(v, float) for v in runs], 0.2 if len(series) < 4 else 0.1)
        axes.set(xscale="log", yscale="log", xlim=around(every, RESPONSE_TIME.limits), ylim=(1e-4, 1.25))
        axes.set(xlabel=RESPONSE_TIME.label, ylabel=RESPONSE_TIME.share)
        axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
        axes.grid(True, which="major")
        axes.minorticks_on()
        legend(axes, by)
    return fig


def _line(axes: Axes, i: int, name: str, runs: list[np.ndarray], alpha: float) -> None:
    look = style.line(i)
    v = np.concatenate(runs) if runs else np.empty(0)
    v = v[v > 0]
    if not v.size:
        axes.plot([], [], label=f"{name}: nothing finished", **look)
        return
    x, share = points(v)
    axes.step(np.append(x, x[-1]), np.append(share, 1e-9), where="pre", zorder=3, **look)
    if len(runs) > 1 and all((r > 0).any() for r in runs):
        shares, low, high = band(runs)
        axes.fill_betweenx(shares, low, high, color=look["color"], alpha=alpha, linewidth=0, zorder=2)
    median, tail = np.percentile(v, [50, 99])
    axes.plot([], [], label=f"{name}   ({seconds(median)}, {seconds(tail)})", **look)
