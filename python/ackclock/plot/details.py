from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ackclock.plot import kinds, style
from ackclock.plot.thin import outline, visible
from ackclock.quantities import seconds
from ackclock.results.trace import Trace

UNITS = ((1024.0, "KiB"), (1024.0**2, "MiB"), (1024.0**3, "GiB"))
"""Units of bytes, by powers of 1024."""
DENSE = 3000
"""Number of marks of one sort from which they are rasterised in a vector file."""
SHORT = 0.02
"""Share of the time shown below which a wait is too short for a label."""
MOST_NAMED = 12
"""Most waits that are labelled; the longest ones come first."""


def unit(top: float) -> tuple[float, str]:
    """The unit in which up to `top` bytes read well."""
    return next((u for u in reversed(UNITS) if top >= 10 * u[0]), UNITS[0])


def details(
    t: Trace, *, title: str, subtitle: str = "", until: float | None = None, since: float = 0.0
) -> Figure:
    """Draws one direction of a connection over time: every segment from its first to its last byte, what was
    acknowledged, the edge of the receiver's window, SACK blocks, retransmissions by their kind (hollow:
    spurious), and how long each timer waited.

    since, until: the first and the last moment shown (s).
    """
    fig, axes = style.figure(title, subtitle)
    last = max([t.end, *(w.time for w in t.waits)]) if until is None else until
    last = max(last, since + 1e-6)
    shown, acked = (t.time >= since) & (t.time <= last), (t.acked_at >= since) & (t.acked_at <= last)
    top = max((t.offset + t.size)[shown].max(initial=0), 1)
    bottom = min(t.offset[shown].min(initial=top), t.acked[acked].min(initial=top)) if since > 0 else 0
    scale, name = unit(top)
    view = View((since, last, bottom / scale, (top + 0.06 * (top - bottom)) / scale), scale)
    with mpl.rc_context(style.SETTINGS):
        edge = 0.01 * (last - since)
        axes.set(xlim=(since - edge, last + edge), ylim=view.limits[2:])
        keys = [
            *_lines(axes, t, view),
            *_segments(axes, t, view),
            *_retransmissions(axes, t, view),
            *_waits(axes, t, view),
        ]
        axes.set(xlabel="time (s)", ylabel=f"sequence number ({name})")
        axes.grid(True)
        legend(fig, keys)
    return fig


@dataclass(frozen=True)
class View:
    """The visible part of a figure's axes (x from and to, y from and to), and the bytes of one unit."""

    limits: tuple[float, float, float, float]
    scale: float

    @property
    def height(self) -> float:
        """From the lowest to the highest."""
        return self.limits[3] - self.limits[2]


def legend(fig: Figure, keys: list[Line2D]) -> None:
    """Puts the legend below the axes, where nothing is drawn."""
    fig.legend(
        handles=keys,
        loc="outside lower left",
        ncols=4,
        fontsize=8,
        handletextpad=0.4,
        columnspacing=1.2,
        labelspacing=0.3,
        handlelength=1.6,
    )


def mark_retransmissions(
    axes: Axes, x: np.ndarray, y: np.ndarray, kind: str, needed: np.ndarray, label: str | None = None
) -> Line2D:
    """Marks retransmissions of one kind, and returns their entry of the legend. Spurious ones are hollow."""
    look = kinds.look(kind)
    for these, face in ((needed, look.colour), (~needed, "white")):
        axes.plot(
            x[these],
            y[these],
            linestyle="",
            marker=look.marker,
            markersize=5,
            color=look.colour,
            markerfacecolor=face,
            markeredgewidth=0.7 if look.marker != "x" else 1.2,
            zorder=5,
            rasterized=x.size > DENSE,
        )
    words = label or f"{look.words} ({x.size:,})"
    return Line2D([], [], linestyle="", marker=look.marker, color=look.colour, markersize=5, label=words)


def _bars(axes: Axes, x: np.ndarray, low: np.ndarray, high: np.ndarray, view: View, **look: Any) -> None:
    """Upright bars; those too short to be seen as such are squares of their width."""
    keep = visible(x, low, view.limits)
    x, low, high = x[keep], low[keep], high[keep]
    short = high - low < 0.004 * view.height
    lines = np.stack([np.stack([x, low], 1), np.stack([x, high], 1)], 1)[~short]
    axes.add_collection(LineCollection(lines, rasterized=lines.shape[0] > DENSE, **look), autolim=False)
    if short.any():
        colour, width = look["colors"], look["linewidths"]
        axes.plot(
            x[short],
            low[short],
            linestyle="",
            marker="s",
            markersize=width,
            markeredgewidth=0,
            color=colour,
            zorder=look["zorder"],
            alpha=look.get("alpha"),
            rasterized=int(short.sum()) > DENSE,
        )


def _segments(axes: Axes, t: Trace, view: View) -> list[Line2D]:
    keys = []
    if t.sack_at.size:
        _bars(
            axes,
            t.sack_at,
            t.sack_from / view.scale,
            t.sack_to / view.scale,
            view,
            colors=kinds.SACK,
            linewidths=0.8,
            alpha=0.55,
            zorder=2,
        )
        keys.append(
            Line2D(
                [],
                [],
                color=kinds.SACK,
                marker="|",
                markersize=7,
                linestyle="",
                label=f"SACK ({t.sack_at.size:,})",
            )
        )
    new = ~t.marked
    low, high = t.offset[new] / view.scale, (t.offset + t.size)[new] / view.scale
    _bars(axes, t.time[new], low, high, view, colors=kinds.NEW, linewidths=1.6, zorder=3)
    key = Line2D(
        [],
        [],
        color=kinds.NEW,
        marker="|",
        markersize=7,
        markeredgewidth=1.8,
        linestyle="",
        label=f"data ({int(new.sum()):,})",
    )
    return [key, *keys]


def _lines(axes: Axes, t: Trace, view: View) -> list[Line2D]:
    keys = []
    if t.acked_at.size:
        keep = outline(t.acked_at, t.acked)
        axes.step(
            t.acked_at[keep],
            t.acked[keep] / view.scale,
            where="post",
            color=kinds.ACKED,
            linewidth=1.0,
            zorder=2,
        )
        keys.append(Line2D([], [], color=kinds.ACKED, linewidth=1.2, label="acknowledged"))
    if t.edge_at.size:
        keep = outline(t.edge_at, t.edge)
        axes.step(
            t.edge_at[keep],
            t.edge[keep] / view.scale,
            where="post",
            color=kinds.EDGE,
            linewidth=0.9,
            zorder=1,
        )
        above = "" if (t.edge[keep] / view.scale <= view.limits[3]).any() else " (above)"
        keys.append(Line2D([], [], color=kinds.EDGE, linewidth=1.2, label=f"receiver's window{above}"))
    return keys


def _retransmissions(axes: Axes, t: Trace, view: View) -> list[Line2D]:
    keys = []
    for kind, places in t.kinds():
        x, y = t.time[places], (t.offset[places] + t.size[places] / 2) / view.scale
        keep = visible(x, y, view.limits)
        label = f"{kinds.look(kind).words} ({places.size:,})"
        keys.append(mark_retransmissions(axes, x[keep], y[keep], kind, t.needed[places][keep], label))
    if not t.needed.all():
        keys.append(
            Line2D(
                [],
                [],
                linestyle="",
                marker="o",
                color="#555555",
                markerfacecolor="white",
                markersize=5,
                label="hollow: spurious",
            )
        )
    return keys


def _waits(axes: Axes, t: Trace, view: View) -> list[Line2D]:
    known = [w for w in t.waits if w.rto == w.rto]
    for w in known:
        axes.plot(
            [w.time - w.rto, w.time],
            [w.offset / view.scale] * 2,
            color=kinds.WAIT,
            linewidth=1.1,
            zorder=4,
            solid_capstyle="butt",
        )
    span = view.limits[1] - view.limits[0]
    for w in sorted((w for w in known if w.rto > SHORT * span), key=lambda w: -w.rto)[:MOST_NAMED]:
        words = seconds(w.rto) if w.round == 1 else f"{seconds(w.rto)}, round {w.round}"
        below = w.offset / view.scale > view.limits[2] + 0.9 * view.height
        axes.annotate(
            words,
            (w.time - w.rto / 2, w.offset / view.scale),
            (0, -3 if below else 3),
            textcoords="offset points",
            fontsize=7,
            ha="center",
            va="top" if below else "bottom",
            color="#8a3c00",
            zorder=6,
        )
    return [Line2D([], [], color=kinds.WAIT, linewidth=1.2, label=kinds.waits(known))] if known else []
