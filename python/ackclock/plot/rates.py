from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from ackclock.plot import style


def rates(
    series: Mapping[str, np.ndarray],
    width: float,
    *,
    title: str,
    subtitle: str = "",
    label: str = "rate (KiB/s)",
    start: float = 0.0,
    level: float | None = None,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draws rates per bin of `width` seconds, a line with a marker in the middle of each bin for each series
    (figures 10 to 12 of Jacobson & Karels).

    start: where the first bin begins (s). level: a value to compare with, a horizontal line. limits: of the
    vertical axis, which begins at 0 without.
    """
    fig, axes = style.figure(title, subtitle)
    with mpl.rc_context(style.SETTINGS):
        if level is not None:
            axes.axhline(level, color="#777777", linewidth=0.9, zorder=1)
        for i, (name, values) in enumerate(series.items()):
            middle = start + width * (np.arange(len(values)) + 0.5)
            mean = f"mean {_short(float(np.mean(values)))}" if len(values) else "nothing"
            look = {
                **style.line(i),
                "linewidth": 1.4,
                "marker": style.MARKERS[i % len(style.MARKERS)],
                "markersize": 3.5,
            }
            axes.plot(middle, values, label=f"{name} ({mean})", **look)
        longest = max((len(v) for v in series.values()), default=0)
        axes.set(xlim=(start, start + width * max(longest, 1)), xlabel="time (s)", ylabel=label)
        axes.set_ylim(*(limits or (0, None)))
        axes.grid(True)
        axes.legend(loc="best", fontsize=9)
    return fig


def _short(x: float) -> str:
    """A number to three digits, or to ones where it is larger."""
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}"
