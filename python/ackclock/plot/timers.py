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
    """Draws the round-trip time as steps and over it the timeout that each timer set; a second panel shows
    what lies between the times `zoom`. Where round-trip times are missing (NaN), the gap is shaded.
    """
    fig, panels = frame(title, subtitle, 1 if zoom is None else 2)
    with mpl.rc_context(style.SETTINGS):
        for axes in panels:
            axes.step(time, rtt, where="post", label="RTT", **RTT)
            for i, (name, values) in enumerate(rto.items()):
                axes.plot(time, values, label=name, **{**style.line(i), "linewidth": 1.4})
            broken = style.gaps(axes, time, rtt, "no samples: repair of a loss")
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
        legend(panels[0], 1 + len(rto) + broken)
    return fig


TOGETHER = 3
"""Most timers that share a panel; more of them have one each."""


def outlines(
    curves: Mapping[str, Mapping[str, np.ndarray]],
    *,
    title: str,
    subtitle: str = "",
    said: Mapping[str, str] | None = None,
) -> Figure:
    """Draws outlines of a replay: for each timer the range that its timeout had in each stretch, and the
    range of the round-trip times below.

    said: the text beside a timer's name. Few timers share a panel; many have one each, with the same axes.
    """
    said = said or {}
    shown = np.concatenate([np.concatenate([c["rto_max"], c["rtt_min"]]) for c in curves.values()])
    shown = shown[shown > 0]
    wide = shown.size and shown.max() > 50 * shown.min()
    if len(curves) <= TOGETHER:
        fig, panels = frame(title, subtitle, 1, 22)
        panels = panels * len(curves)
    else:
        fig, panels = grid(title, subtitle, len(curves))
    with mpl.rc_context(style.SETTINGS):
        for i, (axes, (name, c)) in enumerate(zip(panels, curves.items(), strict=True)):
            alone = axes is not panels[i - 1] or i == 0
            look = style.line(0 if len(curves) > TOGETHER else i)
            if alone:
                axes.fill_between(
                    c["time"],
                    c["rtt_min"],
                    c["rtt_max"],
                    step="post",
                    color="#999999",
                    linewidth=0.8,
                    label="RTT",
                )
            axes.fill_between(
                c["time"],
                c["rto_min"],
                c["rto_max"],
                step="post",
                color=look["color"],
                alpha=0.25,
                linewidth=0,
            )
            label = f"RTO of {name}" + (
                f" ({said[name]})" if name in said and len(curves) <= TOGETHER else ""
            )
            axes.step(c["time"], c["rto_max"], where="post", label=label, **{**look, "linewidth": 1.2})
            axes.grid(True)
            if len(curves) > TOGETHER:
                axes.set_title(
                    name + (f": {said[name]}" if name in said else ""), fontsize=9, fontweight="normal", pad=4
                )
        for axes in panels:
            # After everything is drawn: the scale follows the largest.
            axes.set_yscale("log") if wide else axes.set_ylim(bottom=0)
        if len(curves) > TOGETHER:
            handles, _ = panels[0].get_legend_handles_labels()
            fig.legend(
                handles, ["RTT", "RTO"], loc="outside lower left", ncols=2, fontsize=8, handlelength=2.4
            )
            fig.supxlabel("time (s)", fontsize=10)
            fig.supylabel("time (s)", fontsize=10)
        else:
            panels[0].set(xlabel="time (s)", ylabel="time (s)")
            # Below the panel, as there may be more names than one row above it holds.
            fig.legend(
                *panels[0].get_legend_handles_labels(),
                loc="outside lower left",
                ncols=2,
                fontsize=8,
                handlelength=2.4,
            )
    return fig


def grid(title: str, subtitle: str, panels: int) -> tuple[Figure, list[Axes]]:
    """A figure with small panels in two columns that share their axes."""
    rows = -(-panels // 2)
    with mpl.rc_context(style.SETTINGS):
        fig = style.PlainFigure(figsize=(7.2, 1.2 + 1.45 * rows), layout="constrained")
        FigureCanvasAgg(fig)
        all_axes = fig.subplots(rows, 2, sharex=True, sharey=True, squeeze=False).ravel().tolist()
        for axes in all_axes[panels:]:
            axes.set_visible(False)
            # Its upper neighbour is the last of its column.
            all_axes[panels - 2].tick_params(labelbottom=True)
        fig.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        fig.text(0.01, 1.0 - 0.46 / fig.get_figheight(), subtitle, fontsize=8.5, color="#444444", va="bottom")
        fig.get_layout_engine().set(rect=(0, 0, 1, 1 - 0.22 / fig.get_figheight()))
    return fig, all_axes[:panels]


def frame(title: str, subtitle: str, panels: int, room: int = 40) -> tuple[Figure, list[Axes]]:
    """A figure with panels below each other and its title above them, with `room` (points) for the subtitle
    and a legend of one row.
    """
    with mpl.rc_context(style.SETTINGS):
        fig = style.PlainFigure(figsize=(7.2, 4.4 if panels == 1 else 3.0 * panels), layout="constrained")
        FigureCanvasAgg(fig)
        axes = [fig.add_subplot(panels, 1, i + 1) for i in range(panels)]
        style.heading(axes[0], title, subtitle, room - 16 if subtitle else 24)
    return fig, axes


def legend(axes: Axes, entries: int) -> None:
    """Puts the legend in a row above the panel, where no curve runs."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 0.99),
        ncols=min(entries, 4),
        fontsize=9,
        borderaxespad=0,
        handlelength=2.4,
    )
