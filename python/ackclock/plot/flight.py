from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ackclock.plot import kinds, style
from ackclock.plot.details import legend, mark_retransmissions, unit
from ackclock.plot.thin import outline
from ackclock.results.trace import Trace


def flight(
    t: Trace, *, title: str, subtitle: str = "", window: str = "congestion window", until: float | None = None
) -> Figure:
    """Draws what one direction of a connection had in flight (sent and not acknowledged) over time, under the
    windows that limit it.

    window: the label of the congestion window, which is inferred in a capture. until: the last
    moment shown (s).
    """
    fig, axes = style.figure(title, subtitle)
    time, outstanding = t.flight()
    last = t.end if until is None else until
    top = max(
        float(outstanding.max(initial=0)),
        float(t.window.max(initial=0)) if t.window.max(initial=0) < 4 * outstanding.max(initial=1) else 0,
        1.0,
    )
    scale, name = unit(top)
    with mpl.rc_context(style.SETTINGS):
        keep = outline(time, outstanding)
        axes.fill_between(
            time[keep],
            outstanding[keep] / scale,
            step="post",
            color=kinds.NEW,
            alpha=0.25,
            linewidth=0,
            zorder=2,
            rasterized=keep.size > 3000,
        )
        axes.step(
            time[keep],
            outstanding[keep] / scale,
            where="post",
            color=kinds.NEW,
            linewidth=0.9,
            zorder=3,
            rasterized=keep.size > 3000,
        )
        keys = [Line2D([], [], color=kinds.NEW, linewidth=1.6, label="in flight")]
        if t.window_at.size:
            keep = outline(t.window_at, t.window)
            axes.step(
                t.window_at[keep],
                t.window[keep] / scale,
                where="post",
                color=kinds.SACK,
                linewidth=1.2,
                linestyle=(0, (5, 1.5)),
                zorder=4,
            )
            keys.append(
                Line2D([], [], color=kinds.SACK, linewidth=1.4, linestyle=(0, (5, 1.5)), label=window)
            )
        if t.edge_at.size:
            at, room = t.room()
            keep = outline(at, room)
            axes.step(
                at[keep],
                room[keep] / scale,
                where="post",
                color=kinds.EDGE,
                linewidth=1.0,
                linestyle=(0, (1.5, 1.2)),
                zorder=1,
            )
            above = " (above)" if room.min() > 1.08 * top else ""
            keys.append(
                Line2D(
                    [],
                    [],
                    color=kinds.EDGE,
                    linewidth=1.4,
                    linestyle=(0, (1.5, 1.2)),
                    label=f"receiver's window{above}",
                )
            )
        for kind, places in t.kinds():
            height = outstanding[np.maximum(np.searchsorted(time, t.time[places], "right") - 1, 0)] / scale
            keys.append(mark_retransmissions(axes, t.time[places], height, kind, t.needed[places]))
        axes.set(
            xlim=(0, max(last, 1e-6)),
            ylim=(0, 1.08 * top / scale),
            xlabel="time (s)",
            ylabel=f"bytes in flight ({name})",
        )
        axes.grid(True)
        legend(fig, keys)
    return fig
