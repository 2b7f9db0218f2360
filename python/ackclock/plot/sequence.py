from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ackclock.plot import style
from ackclock.plot.details import unit
from ackclock.results.transfer import Transfer

KIB = 1024.0
"""Bytes of a KiB, which Jacobson & Karels 1988 write KB: their window of 16 KB is 32 packets of 512 bytes."""
AGAIN = "#D55E00"
"""Colour of retransmissions; connections have the other colours."""
COLOURS = tuple(c for c in style.COLOURS if c != AGAIN)
MANY_DOTS = 5000
"""Number of dots from which they are rasterised in a vector file, which would be slow to show."""


def sequence(
    transfers: Mapping[str, Transfer],
    *,
    title: str,
    subtitle: str = "",
    available: float | None = None,
    acks: bool = True,
    until: float | None = None,
    behind: tuple[str, Sequence[Transfer]] = ("", ()),
) -> Figure:
    """Draws when each segment was sent against its sequence number, a dot each (J-U1; figures 3, 4, 8 and 9
    of Jacobson & Karels).

    A column of dots is a burst, two dots at one height are a segment sent twice. transfers: by name, each in
    a colour of its own; retransmissions are marked in all of them. available: the path's rate for data
    (B/s), a dashed line from the start of the first. acks: also draws the bytes acknowledged, where there is
    one connection. until: the last moment shown (s). behind: a name and other transfers, grey lines of the
    highest sequence number behind the dots.
    """
    fig, axes = style.figure(title, subtitle)
    with mpl.rc_context(style.SETTINGS):
        begins = [t.time[0] for t in transfers.values() if t.time.size]
        last = (
            until
            if until is not None
            else max((float(t.time[-1]) for t in transfers.values() if t.time.size), default=1.0)
        )
        top = max(
            (((t.offset + t.size)[t.time <= last]).max(initial=0) for t in transfers.values()), default=0
        )
        scale, name_of_unit = unit(top)
        keys = [
            dots(axes, t, i, name, acks and len(transfers) == 1, scale)
            for i, (name, t) in enumerate(transfers.items())
        ]
        for t in behind[1]:
            (line,) = axes.plot(
                t.time,
                np.maximum.accumulate(t.offset + t.size) / scale,
                color="#aaaaaa",
                linewidth=1.0,
                zorder=1,
            )
        if behind[1]:
            line.set_label(behind[0])
            keys.append(line)
        if any(t.again.any() for t in transfers.values()):
            keys.append(
                Line2D([], [], color=AGAIN, marker="x", markersize=4.5, linestyle="", label="retransmitted")
            )
        if acks and len(transfers) == 1:
            keys.append(Line2D([], [], color="#888888", linewidth=0.9, label="acknowledged"))
        if available is not None and begins:
            (line,) = axes.plot(
                [begins[0], last],
                [0, available / scale * (last - begins[0])],
                label=f"available: {available / scale:.3g} {name_of_unit}/s",
                **AVAILABLE,
            )
            keys.append(line)
        axes.set(
            xlim=(0, last),
            ylim=(0, 1.05 * top / scale or 1),
            xlabel="send time (s)",
            ylabel=f"sequence number ({name_of_unit})",
        )
        axes.grid(True)
        look = {"handles": keys, "fontsize": 8.5, "handletextpad": 0.4, "labelspacing": 0.3}
        if len(transfers) > 1:
            fig.legend(loc="outside lower left", ncols=2, **look)
        else:
            # Dots rise to the right, so that this corner is free.
            axes.legend(loc="upper left", **look)
    return fig


AVAILABLE = {"color": "#000000", "linestyle": (0, (6, 4)), "linewidth": 1.0, "zorder": 1}


def dots(axes: Axes, t: Transfer, index: int, name: str, acks: bool, scale: float = KIB) -> Line2D:
    """Draws the dots of one connection, in units of `scale` bytes, and returns their entry of the legend."""
    colour = COLOURS[index % len(COLOURS)]
    at = (t.offset + t.size) / scale
    image = t.time.size > MANY_DOTS
    if acks and t.acked_at.size:
        axes.step(t.acked_at, t.acked / scale, where="post", color="#888888", linewidth=0.9, zorder=2)
    new = {"color": colour, "marker": "o", "linestyle": "", "markeredgewidth": 0}
    axes.plot(t.time[~t.again], at[~t.again], markersize=2.2, zorder=3, rasterized=image, **new)
    axes.plot(
        t.time[t.again],
        at[t.again],
        color=AGAIN,
        marker="x",
        markersize=2.6,
        markeredgewidth=0.6,
        linestyle="",
        zorder=4,
        rasterized=image,
    )
    resent = f", {t.retransmissions} retransmitted" if t.time.size else ": nothing sent"
    return Line2D(
        [],
        [],
        markersize=5,
        label=f"{name} ({t.time.size} sent{resent})" if t.time.size else f"{name}{resent}",
        **new,
    )
