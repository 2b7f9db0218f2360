"""How every figure looks: colours that colour-blind readers can distinguish, a line style for each as well,
and files that are the same each time.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.category import StrCategoryFormatter
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Annotation, Text
from matplotlib.ticker import (
    FixedFormatter,
    FuncFormatter,
    LogFormatterSciNotation,
    LogLocator,
    MaxNLocator,
    NullLocator,
)
from matplotlib.transforms import ScaledTranslation

from ackclock._core import InputError
from ackclock.plain import plain

# Okabe and Ito's palette without its yellow, which is too pale for a line on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))

SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "legend.frameon": True,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.9,
    "legend.fancybox": False,
    "lines.linewidth": 1.8,
    "figure.dpi": 100,
    # Ids inside an SVG are derived from this salt instead of random numbers.
    "svg.hashsalt": "ackclock",
    "svg.fonttype": "path",
}


class Numbers(LogFormatterSciNotation):
    """Numbers at a logarithmic axis: 0.2 and 1 where few decades are shown, else powers of ten."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The label of a tick; empty for one that has none."""
        label = super().__call__(x, pos)
        low, high = sorted(self.axis.get_view_interval())
        few = high < 1000 * low and low >= PLAIN[0] and high <= PLAIN[1]
        return f"{x:g}" if label and few else label


class EvenSteps(MaxNLocator):
    """Even steps at a narrow logarithmic axis."""


PLAIN = (1e-3, 1e5)
"""Ends of the range in which numbers at a logarithmic axis are written out."""


class PlainFigure(Figure):
    """A figure that shows text as it is: a `$` in the name of a stack begins no formula. Its legends, and the
    numbers at its logarithmic axes, look alike wherever they were made; its title ends within it.
    """

    def draw(self, renderer: object) -> None:
        """Draws it."""
        for text in self.findobj(Text):
            text.set_parse_math(False)
            text.set_text(plain(text.get_text(), keep="\n"))
        for box in self.findobj(Legend):
            box.get_frame().set(edgecolor="none", alpha=SETTINGS["legend.framealpha"])
            box.get_frame().set_boxstyle("square", pad=0)
        for axes in self.axes:
            for axis in (axes.xaxis, axes.yaxis):
                if type(axis.get_major_formatter()) is LogFormatterSciNotation:
                    axis.set_major_formatter(Numbers())
                if type(axis.get_minor_formatter()) is LogFormatterSciNotation:
                    axis.set_minor_formatter(Numbers(minor_thresholds=(1, 0.4)))
                _number_a_narrow(axis)
                for major in (True, False):
                    # Numbers at axes may be powers, which are formulas of matplotlib's own; names are not.
                    formatter = axis.get_major_formatter() if major else axis.get_minor_formatter()
                    named = isinstance(formatter, FixedFormatter | FuncFormatter | StrCategoryFormatter)
                    for label in axis.get_ticklabels(minor=not major):
                        label.set_parse_math(not named)
                axis.get_offset_text().set_parse_math(True)
        super().draw(renderer)
        moved = [
            *(self._fit(axes, renderer) for axes in self.axes),
            *(_uncover(axes, renderer) for axes in self.axes),
        ]
        if any(moved):
            super().draw(renderer)

    def _fit(self, axes: Axes, renderer: object) -> bool:
        """Moves a title and the line below it to the left, and makes them smaller, where they would leave the
        figure; whether they would.
        """
        heads = [text for text in (axes._left_title, *axes.texts) if text.get_gid() == HEADING]
        boxes = [text.get_window_extent(renderer) for text in heads if text.get_text()]
        right, begin = self.bbox.x1 - MARGIN, min((b.x0 for b in boxes), default=0.0)
        if not boxes or max(b.x1 for b in boxes) <= self.bbox.x1:
            return False
        moved = min(max(b.x1 for b in boxes) - right, max(begin - MARGIN, 0.0))
        for text, box in zip((text for text in heads if text.get_text()), boxes, strict=True):
            if isinstance(text, Annotation):
                x, y = text.xyann
                text.xyann = (x - moved * 72 / self.dpi, y)
            else:
                text.set_x(text.get_position()[0] - moved / axes.bbox.width)
            if box.width > right - begin + moved:
                text.set_fontsize(0.98 * text.get_fontsize() * (right - begin + moved) / box.width)
        return True


def _number_a_narrow(axis: Axis) -> None:
    """Gives a logarithmic axis that shows little more than one power numbers at even steps: whole powers, and
    their multiples, leave most of it without a number.
    """
    if axis.get_scale() != "log":
        return
    low, high = sorted(axis.get_view_interval())
    if high < NARROW * low and type(axis.get_major_formatter()) is Numbers:
        axis.set_major_locator(EvenSteps(8, steps=[1, 2, 2.5, 5, 10]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    elif high >= NARROW * low and isinstance(axis.get_major_locator(), EvenSteps):
        # It was drawn before, with other ends.
        axis.set_major_locator(LogLocator())
        axis.set_minor_locator(LogLocator(subs=range(2, 10)))
        axis.set_major_formatter(Numbers())
        axis.set_minor_formatter(Numbers(minor_thresholds=(1, 0.4)))


def _uncover(axes: Axes, renderer: object) -> bool:
    """Moves a legend that hides lines or marks to where it hides none, which may be below the axes; whether
    it had to be moved.
    """
    box = axes.get_legend()
    if box is None or box.get_bbox_to_anchor().bounds != axes.bbox.bounds or not _hides(box, axes):
        return False
    if box._loc != BEST:
        box.set_loc("best")
        box.draw(renderer)
        if not _hides(box, axes):
            return True
    below = axes.bbox.y0 - axes.xaxis.get_tightbbox(renderer).y0 + MARGIN
    figure = axes.get_figure()
    entries = [text.get_text() for text in box.get_texts()]
    axes.legend(
        box.legend_handles,
        entries,
        ncols=min(len(entries), 2),
        title=box.get_title().get_text() or None,
        title_fontsize=8.5,
        alignment="left",
        fontsize=box.get_texts()[0].get_fontsize(),
        loc="upper left",
        borderaxespad=0,
        bbox_to_anchor=(0, 0),
        bbox_transform=axes.transAxes + ScaledTranslation(0, -below / figure.dpi, figure.dpi_scale_trans),
    ).get_frame().set(edgecolor="none", alpha=SETTINGS["legend.framealpha"])
    return True


def _hides(box: Legend, axes: Axes) -> bool:
    """Whether a legend lies over lines or marks."""
    frame = box.get_window_extent()
    lines = (
        drawn.get_transform().transform_path(drawn.get_path()).intersects_bbox(frame, filled=False)
        for drawn in axes.lines
        if drawn.get_visible() and len(drawn.get_xdata()) and drawn.get_linestyle() != "None"
    )
    dots = (
        frame.count_contains(drawn.get_transform().transform(drawn.get_xydata()))
        for drawn in axes.lines
        if drawn.get_visible() and drawn.get_marker() not in ("None", None, "")
    )
    marks = (
        frame.count_contains(drawn.get_offset_transform().transform(drawn.get_offsets()))
        for drawn in axes.collections
        if isinstance(drawn, PathCollection)
    )
    return any(lines) or any(dots) or any(marks)


BEST = 0
"""Matplotlib's number for the place of a legend that hides least."""
NARROW = 5.0
"""A logarithmic axis is narrow where it ends below this multiple of its beginning."""
HEADING = "heading"
"""The mark of titles, and of the lines below them."""
MARGIN = 4.0
"""Pixels between a title and the figure's edge."""


def line(index: int) -> dict[str, object]:
    """Colour and dashes of the line number `index` of a figure."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}


def figure(title: str, subtitle: str = "", size: tuple[float, float] = (7.2, 4.8)) -> tuple[Figure, Axes]:
    """An empty figure with one pair of axes, its title and, below it, one line that says what was run."""
    with mpl.rc_context(SETTINGS):
        fig = PlainFigure(figsize=size, layout="constrained")
        FigureCanvasAgg(fig)
        axes = fig.add_subplot()
        heading(axes, title, subtitle)
    return fig, axes


def heading(axes: Axes, title: str, subtitle: str = "", room: float = 6) -> None:
    """Writes a title above axes and, below it and `room` (points) above them, one line that says what was
    run.
    """
    axes.set_title(title, pad=room + 16 if subtitle else room + 2, gid=HEADING)
    if subtitle:
        axes.annotate(
            subtitle,
            (0, 1),
            (0, room),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=8.5,
            color="#444444",
            gid=HEADING,
            # The title has room for both; a long line must not make the axes narrower.
            in_layout=False,
        )


def gaps(axes: Axes, time: np.ndarray, values: np.ndarray, words: str) -> bool:
    """Shades the times between which values are missing (NaN), with `words` in the legend; whether there are
    any.
    """
    known = np.flatnonzero(np.isfinite(values))
    ends = [(a, b) for a, b in itertools.pairwise(known) if b > a + 1]
    for i, (a, b) in enumerate(ends):
        axes.axvspan(time[a], time[b], color="#f3ead8", linewidth=0, zorder=0, label=None if i else words)
    return bool(ends)


def side_by_side(
    panels: Sequence[str], width: float, height: float, title: str, subtitle: str
) -> tuple[Figure, Sequence[Axes]]:
    """Panels in a row that share their axes, each so wide (inches) and under its name; title and subtitle
    stand above all of them.
    """
    fig = PlainFigure(figsize=(width * len(panels), height), layout="constrained")
    FigureCanvasAgg(fig)
    fig.text(0.012, 0.965, title, fontsize=12, fontweight="bold", va="center")
    fig.text(0.012, 0.915, subtitle, fontsize=8.5, color="#444444", va="center")
    engine = fig.get_layout_engine()
    assert engine is not None
    engine.set(rect=(0, 0, 1, 0.89))
    all_axes = fig.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for axes, name in zip(all_axes, panels, strict=True):
        axes.set_title(name, fontsize=10)
    return fig, all_axes


class FigureWarning(UserWarning):
    """Warns that a figure could not be drawn; everything else is written."""

    bad_input = False
    """Whether the request was wrong, rather than ackclock at fault."""


def could_not_be_drawn(name: str, error: Exception) -> None:
    """Warns that a figure could not be drawn."""
    bad_input = isinstance(error, InputError | OSError)
    why = " ".join((str(error) if bad_input else f"{type(error).__name__}: {error}").split())[:300]
    warning = FigureWarning(f"the figure `{name}` could not be drawn ({why}); everything else is written")
    warning.bad_input = bad_input
    warnings.warn(warning, stacklevel=2)


def save(fig: Figure, stem: Path) -> list[Path]:
    """Writes `stem`.png and `stem`.svg, which depend on nothing but the figure, and returns their paths."""
    with mpl.rc_context(SETTINGS):
        png, svg = stem.with_name(stem.name + ".png"), stem.with_name(stem.name + ".svg")
        fig.savefig(png, dpi=160, metadata={"Software": None})
        fig.savefig(svg, metadata={"Date": None, "Creator": "ackclock"})
    return [png, svg]
