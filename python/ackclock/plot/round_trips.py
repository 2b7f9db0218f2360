from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ackclock.plot import kinds, style
from ackclock.plot.details import DENSE, legend
from ackclock.plot.thin import outline, visible
from ackclock.results.trace import Wait

SAMPLE = "#777777"
WIDE = 12
"""Multiple of the median round trip from which the axis is logarithmic."""


def is_wide(rtt: np.ndarray, high: float) -> bool:
    """Whether times up to `high` leave too little of an axis to the round-trip times."""
    return bool(rtt.size) and high > WIDE * float(np.median(rtt))


def round_trips(
    time: np.ndarray,
    rtt: np.ndarray,
    rto: Mapping[str, np.ndarray],
    *,
    title: str,
    subtitle: str = "",
    waits: Sequence[Wait] = (),
    until: float | None = None,
) -> Figure:
    """Draws samples of the round-trip time (s) as dots, over them the timeouts that each timer would have
    set, and those that expired.

    rto: by the timer's name. waits: expiries, each at its moment and at the height of the time waited,
    backoff included.
    """
    fig, axes = style.figure(title, subtitle)
    expired = [w for w in waits if w.rto == w.rto]
    every = np.concatenate([rtt, *rto.values(), [w.rto for w in expired]])
    every = every[np.isfinite(every) & (every > 0)]
    low, high = (float(every.min()), float(every.max())) if every.size else (0.001, 1.0)
    wide = is_wide(rtt, high)
    last = (
        max([float(time[-1]) if time.size else 0.0, *(w.time for w in expired)]) if until is None else until
    )
    with mpl.rc_context(style.SETTINGS):
        keep = visible(
            time,
            np.log(np.maximum(rtt, 1e-9)) if wide else rtt,
            (0.0, last, *((np.log(low), np.log(high)) if wide else (0.0, high))),
        )
        axes.plot(
            time[keep],
            rtt[keep],
            ".",
            color=SAMPLE,
            markersize=3 if time.size > 300 else 5,
            markeredgewidth=0,
            zorder=2,
            rasterized=keep.size > DENSE,
        )
        keys = [
            Line2D(
                [],
                [],
                linestyle="",
                marker=".",
                color=SAMPLE,
                markersize=6,
                label=f"RTT samples ({time.size:,})",
            )
        ]
        for i, (name, values) in enumerate(rto.items()):
            look = {**style.line(i), "linewidth": 1.3}
            # NaN before a timer has its first sample.
            known = np.isfinite(values)
            keep = np.flatnonzero(known)[outline(time[known], values[known])]
            # It holds until the next sample, so the last one to the end.
            axes.step(
                [*time[keep], last],
                [*values[keep], *values[keep[-1:]]] if keep.size else [np.nan],
                where="post",
                zorder=3,
                **look,
            )
            keys.append(Line2D([], [], label=f"RTO of {name}", **look))
        for hollow, words in (
            (False, "timeout of the sender"),
            (True, "timeout that a longer RTO would have avoided"),
        ):
            these = [w for w in expired if (w.spurious is True) == hollow]
            if these:
                face = {"markerfacecolor": "white"} if hollow else {}
                look = {"linestyle": "", "marker": "X", "color": kinds.WAIT, "markersize": 6.5, **face}
                axes.plot([w.time for w in these], [w.rto for w in these], zorder=5, **look)
                keys.append(Line2D([], [], label=f"{words} ({len(these):,})", **look))
        if wide:
            axes.set_yscale("log")
            axes.set_ylim(low / 1.5, high * 1.5)
            axes.yaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
        else:
            axes.set_ylim(0, 1.08 * high)
        axes.set(xlim=(0, max(last, 1e-6)), xlabel="time (s)", ylabel="round-trip time, timeout (s)")
        axes.grid(True)
        legend(fig, keys)
    return fig
