from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.plot import style
from ackclock.results.quantity import RESPONSE_TIME, Quantity


def points(values: Sequence[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The empirical complementary distribution of `values`: each distinct value x and the share of values
    above or equal to it.

    Counting "or equal" keeps the largest value on a logarithmic axis, at 1/n.
    """
    x, first = np.unique(np.sort(np.asarray(values, dtype=float)), return_index=True)
    return x, 1.0 - first / max(len(values), 1)


def ccdf(
    series: Mapping[str, Sequence[float] | np.ndarray],
    *,
    title: str,
    subtitle: str = "",
    quantity: Quantity | None = None,
    by: str = "stack",
) -> Figure:
    """Draws the share of values at least as large as x for each series, on logarithmic axes; x is linear
    where values lie close together.

    NaNs are left out. quantity: what the values are, response times in seconds by default. Each line is named
    in the legend with its median and 99th percentile.
    """
    what = quantity or RESPONSE_TIME
    known = {
        name: v[~np.isnan(v)]
        for name, v in ((name, np.asarray(values, dtype=float)) for name, values in series.items())
    }
    every = np.concatenate([*known.values(), np.empty(0)])
    log = what.limits is not None or wide(every)
    fig, axes = style.figure(title, subtitle)
    with mpl.rc_context(style.SETTINGS):
        for i, (name, v) in enumerate(known.items()):
            if not v.size:
                axes.plot([], [], label=f"{name}: {what.nothing}", **style.line(i))
                continue
            x, share = points(v)
            median, tail = np.percentile(v, [50, 99])
            # One more point at the bottom: the line ends where the last value is, not one step above it.
            axes.step(np.append(x, x[-1]), np.append(share, 1e-9), where="pre", zorder=3, **style.line(i))
            axes.plot([], [], label=f"{name}   ({what.text(median)}, {what.text(tail)})", **style.line(i))
        axes.set(yscale="log", ylim=(1e-4, 1.25), xlabel=what.label, ylabel=what.share)
        if log:
            axes.set(xscale="log", xlim=around(every, what.limits))
            axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
        elif every.size and every.min() >= 0:
            axes.set_xlim(left=0)
        axes.grid(True, which="major")
        axes.minorticks_on()
        legend(axes, by)
    return fig


def wide(values: np.ndarray) -> bool:
    """Whether the values above zero are so far apart that only a logarithmic axis shows them."""
    above = values[values > 0]
    return bool(above.size and not (values < 0).any() and above.max() >= 30 * above.min())


def around(values: np.ndarray, least: tuple[float, float] | None = None) -> tuple[float, float]:
    """The ends of a logarithmic axis: `least`, or beyond where values lie there, in whole decades."""
    above = values[(values > 0) & np.isfinite(values)]
    if not above.size:
        return least or (0.1, 1.0)
    low, high = (float(10.0 ** f(np.log10(x))) for f, x in ((np.floor, above.min()), (np.ceil, above.max())))
    high = max(high, 10 * low)
    return (low, high) if least is None else (min(low, least[0]), max(high, least[1]))


def legend(axes: Axes, by: str) -> None:
    """Puts the legend where a falling curve leaves room; none where nothing is drawn."""
    if not axes.get_legend_handles_labels()[1]:
        return
    box = axes.legend(
        loc="lower left",
        title=f"{by}   (median, 99th percentile)",
        alignment="left",
        fontsize=9,
        title_fontsize=8.5,
    )
    box.set_zorder(5)
