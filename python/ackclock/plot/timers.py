from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ackclock.plot import style

RTT = {"color": "#555555", "linewidth": 1.2}


def timers(
    time: np.ndarray,
    rtt: np.ndarray,
    rto: Mapping[str, np.ndarray],
    *,
    title: str,
    subtitle: str = "",
    zoom: tuple[float, float] | None = None,
    unit: str = "s",
) -> Figure:
    """Draws the round-trip time as steps and over it the timeout that each timer set; a second panel shows what lies between the times `zoom`."""
    fig, panels = frame(title, subtitle, 1 if zoom is None else 2)
    with mpl.rc_context(style.SETTINGS):
        for axes in panels:
            axes.step(time, rtt, where="post", label="RTT", **RTT)
            for i, (name, values) in enumerate(rto.items()):
                axes.plot(time, values, label=name, **{**style.line(i), "linewidth": 1.4})
            axes.set_ylabel(f"time ({unit})")
            axes.grid(True)
        panels[0].set_xlim(time[0], time[-1])
        if zoom is None:
            panels[0].set_ylim(bottom=0)
        else:
            panels[0].set_ylim(bottom=0)
            panels[1].set_xlim(*zoom)
            inside = (time >= zoom[0]) & (time <= zoom[1])
            shown = np.concatenate([rtt[inside], *(v[inside] for v in rto.values())])
            room = 0.05 * (np.nanmax(shown) - np.nanmin(shown))
            panels[1].set_ylim(np.nanmin(shown) - room, np.nanmax(shown) + room)
            panels[0].axvspan(*zoom, color="#f0f0f0", zorder=0)
        panels[-1].set_xlabel(f"time ({unit})")
        legend(panels[0], 1 + len(rto))
    return fig


def outlines(curves: Mapping[str, Mapping[str, np.ndarray]], *, title: str, subtitle: str = "") -> Figure:
    """Draws outlines of a replay: for each timer the range that its timeout had in each stretch, and the range of the round-trip times below."""
    fig, (axes,) = frame(title, subtitle, 1, 22)
    with mpl.rc_context(style.SETTINGS):
        for i, (name, c) in enumerate(curves.items()):
            if i == 0:
                axes.fill_between(c["time"], c["rtt_min"], c["rtt_max"], step="post", color="#999999", linewidth=0.8, label="RTT")
            colour = style.line(i)["color"]
            axes.fill_between(c["time"], c["rto_min"], c["rto_max"], step="post", color=colour, alpha=0.25, linewidth=0)
            axes.step(c["time"], c["rto_max"], where="post", label=f"RTO of {name}", **{**style.line(i), "linewidth": 1.2})
        shown = np.concatenate([np.concatenate([c["rto_max"], c["rtt_min"]]) for c in curves.values()])
        shown = shown[shown > 0]
        if shown.size and shown.max() > 50 * shown.min():
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set(xlabel="time (s)", ylabel="time (s)")
        axes.grid(True)
        # Below the panel, as there may be more names than one row above it holds.
        fig.legend(*axes.get_legend_handles_labels(), loc="outside lower left", ncols=4, fontsize=8, handlelength=2.4)
    return fig


def frame(title: str, subtitle: str, panels: int, room: int = 40) -> tuple[Figure, list[Axes]]:
    """A figure with panels below each other and its title above them, with `room` (points) for the subtitle and a legend of one row."""
    with mpl.rc_context(style.SETTINGS):
        fig = Figure(figsize=(7.2, 4.4 if panels == 1 else 3.0 * panels), layout="constrained")
        FigureCanvasAgg(fig)
        axes = [fig.add_subplot(panels, 1, i + 1) for i in range(panels)]
        axes[0].set_title(title, pad=room if subtitle else 26)
        if subtitle:
            axes[0].annotate(subtitle, (0, 1), (0, room - 16), xycoords="axes fraction", textcoords="offset points", fontsize=8.5, color="#444444")
    return fig, axes


def legend(axes: Axes, entries: int) -> None:
    """Puts the legend in a row above the panel, where no curve runs."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 0.99), ncols=min(entries, 4), fontsize=9, borderaxespad=0, handlelength=2.4)
