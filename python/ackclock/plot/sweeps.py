from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from ackclock.plot import style

MOST_INSIDE = 5
"""Lines whose legend finds room among them."""


def sweeps(
    lines: Sequence[tuple[str, Sequence[Any], Sequence[float], Sequence[float]]],
    *,
    title: str,
    subtitle: str = "",
    xlabel: str,
    ylabel: str,
    log: bool = False,
    legend: str = "",
) -> Figure:
    """Draws numbers of many runs over one axis: for each line its name, places, means, and how far runs
    spread around them.

    Places that are words stand side by side. log: whether the x axis is logarithmic; the y axis then is too,
    where every value is above zero.
    """
    beside = len(lines) > MOST_INSIDE
    fig, axes = style.figure(title, subtitle, (9.6, 4.8) if beside else (7.2, 4.8))
    words = (
        list(dict.fromkeys(str(x) for _, places, _, _ in lines for x in places))
        if any(isinstance(x, str) for x in lines[0][1])
        else []
    )
    with mpl.rc_context(style.SETTINGS):
        for i, (name, places, means, spreads) in enumerate(lines):
            where = (
                [words.index(str(x)) + 0.06 * (i - (len(lines) - 1) / 2) for x in places]
                if words
                else list(places)
            )
            look = {
                **style.line(i),
                "marker": "o",
                "markersize": 4,
                "linewidth": 1.4,
                "capsize": 2.5,
                "elinewidth": 0.9,
            }
            axes.errorbar(
                where,
                means,
                yerr=spreads if any(spreads) else None,
                label=name,
                **(look | {"linestyle": "none"} if words else look),
            )
        if words:
            axes.set_xticks(range(len(words)), words)
        every = [m - s for _, _, means, spreads in lines for m, s in zip(means, spreads, strict=True)]
        if log:
            axes.set_xscale("log")
            if min(every) > 0:
                axes.set_yscale("log")
                axes.yaxis.set_minor_formatter(NullFormatter())
        if not log and min(every) >= 0:
            axes.set_ylim(bottom=0)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.grid(True, which="major")
        if len(lines) > 1:
            place = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)} if beside else {"loc": "best"}
            axes.legend(
                **place,
                fontsize=9,
                title=legend or None,
                title_fontsize=9,
                alignment="left",
                handlelength=2.6,
            )
    return fig
