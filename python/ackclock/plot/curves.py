from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from ackclock.plot import style

MARKED = 30
"""Curves of at most so many points mark each of them."""


def curves(
    x: np.ndarray,
    lines: Sequence[tuple[str, np.ndarray]],
    *,
    title: str,
    subtitle: str = "",
    xlabel: str,
    ylabel: str,
    log: bool = False,
    legend: str = "",
) -> Figure:
    """Draws functions of one variable: names and values at `x`.

    log: whether the x axis is logarithmic; the y axis then is too, where every value is above zero. legend:
    what the lines have in common.
    """
    fig, axes = style.figure(title, subtitle)
    every = np.concatenate([np.asarray(v, float) for _, v in lines])
    with mpl.rc_context(style.SETTINGS):
        for i, (name, values) in enumerate(lines):
            look = {"marker": "o", "markersize": 3.5} if x.size < MARKED else {}
            axes.plot(x, values, label=name, **style.line(i), **look)
        if log:
            axes.set_xscale("log")
            if (every > 0).all():
                axes.set_yscale("log")
        elif (every >= 0).all():
            axes.set_ylim(bottom=0)
        axes.set(xlim=(x.min(), x.max()), xlabel=xlabel, ylabel=ylabel)
        axes.grid(True, which="major")
        if len(lines) > 1 or legend:
            axes.legend(
                loc="best",
                fontsize=9,
                title=legend or None,
                title_fontsize=9,
                alignment="left",
                handlelength=2.6,
            )
    return fig
