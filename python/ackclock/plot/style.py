"""How every figure looks: colours that colour-blind readers can distinguish, a line style for each as well,
and files that are the same each time.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.category import StrCategoryFormatter
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FuncFormatter

from ackclock._core import InputError
from ackclock.plain import plain

# Okabe and Ito's palette without its yellow, which is too pale for a line on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
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


class PlainFigure(Figure):
    """A figure that shows text as it is: a `$` in the name of a stack begins no formula."""

    def draw(self, renderer: object) -> None:
        """Draws it."""
        for text in self.findobj(Text):
            text.set_parse_math(False)
            text.set_text(plain(text.get_text(), keep="\n"))
        for axes in self.axes:
            for axis in (axes.xaxis, axes.yaxis):
                for major in (True, False):
                    # Numbers at axes may be powers, which are formulas of matplotlib's own; names are not.
                    formatter = axis.get_major_formatter() if major else axis.get_minor_formatter()
                    named = isinstance(formatter, FixedFormatter | FuncFormatter | StrCategoryFormatter)
                    for label in axis.get_ticklabels(minor=not major):
                        label.set_parse_math(not named)
                axis.get_offset_text().set_parse_math(True)
        super().draw(renderer)


def line(index: int) -> dict[str, object]:
    """Colour and dashes of the line number `index` of a figure."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}


def figure(title: str, subtitle: str = "", size: tuple[float, float] = (7.2, 4.8)) -> tuple[Figure, Axes]:
    """An empty figure with one pair of axes, its title and, below it, one line that says what was run."""
    with mpl.rc_context(SETTINGS):
        fig = PlainFigure(figsize=size, layout="constrained")
        FigureCanvasAgg(fig)
        axes = fig.add_subplot()
        axes.set_title(title, pad=22 if subtitle else 8)
        if subtitle:
            axes.annotate(
                subtitle,
                (0, 1),
                (0, 6),
                xycoords="axes fraction",
                textcoords="offset points",
                fontsize=8.5,
                color="#444444",
            )
    return fig, axes


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
