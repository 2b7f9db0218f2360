from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.plot import style


def points(values: Sequence[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The empirical complementary distribution of `values`: each distinct value x and the share of values above or equal to it.

    Counting "or equal" keeps the largest value on a logarithmic axis, at 1/n.
    """
    x, first = np.unique(np.sort(np.asarray(values, dtype=float)), return_index=True)
    return x, 1.0 - first / max(len(values), 1)


def ccdf(
    series: Mapping[str, Sequence[float] | np.ndarray],
    *,
    title: str,
    subtitle: str = "",
    label: str = "response time (s)",
    limits: tuple[float, float] = (0.01, 1000.0),
    by: str = "stack",
) -> Figure:
    """Draws the share of values above x for each series, on logarithmic axes.

    Values of zero and below cannot be shown and are left out, as are NaNs. Each line is named in the legend with its median and 99th percentile.
    """
    fig, axes = style.figure(title, subtitle)
    with mpl.rc_context(style.SETTINGS):
        for i, (name, values) in enumerate(series.items()):
            v = np.asarray(values, dtype=float)
            v = v[v > 0]
            if not v.size:
                axes.plot([], [], label=f"{name}: nothing finished", **style.line(i))
                continue
            x, share = points(v)
            median, tail = np.percentile(v, [50, 99])
            # One more point at the bottom: the line ends where the last value is, not one step above it.
            axes.step(np.append(x, x[-1]), np.append(share, 1e-9), where="pre", zorder=3, **style.line(i))
            axes.plot([], [], label=f"{name}   ({seconds(median)}, {seconds(tail)})", **style.line(i))
        axes.set(xscale="log", yscale="log", xlim=limits, ylim=(1e-4, 1.25))
        axes.set(xlabel=label, ylabel="share of flows that took at least this long")
        axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
        axes.grid(True, which="major")
        axes.minorticks_on()
        legend(axes, by)
    return fig


def legend(axes: Axes, by: str) -> None:
    """Puts the legend where a falling curve leaves room; none where nothing is drawn."""
    if not axes.get_legend_handles_labels()[1]:
        return
    box = axes.legend(loc="lower left", title=f"{by}   (median, 99th percentile)", alignment="left", fontsize=9, title_fontsize=8.5)
    box.set_zorder(5)


def seconds(x: float) -> str:
    """A time in seconds, to three digits, with the unit a reader would choose."""
    return f"{x * 1e3:.3g} ms" if x < 1 else f"{x:.3g} s"
