"""The look that all figures share: legends hide nothing, and every axis has numbers."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from ackclock.plot import style

X = np.linspace(0, 1, 200)


def drawn(fig: Figure) -> None:
    """Draws it as for a file."""
    fig.canvas.draw()


def test_a_legend_that_hides_nothing_stays():
    fig, axes = style.figure("Title")
    axes.plot(X, 1 - X, label="falls")
    box = axes.legend(loc="lower left")
    drawn(fig)
    assert axes.get_legend() is box
    assert box._loc == 3


@pytest.mark.parametrize("kind", ["line", "marks", "scatter"])
def test_a_legend_over_what_is_drawn_goes_where_there_is_room(kind):
    fig, axes = style.figure("Title")
    if kind == "scatter":
        axes.scatter(X, X, label="rises")
    else:
        axes.plot(X, X, "-" if kind == "line" else "o", label="rises")
    box = axes.legend(loc="lower left")
    drawn(fig)
    assert axes.get_legend() is box, "there is room in another corner"
    assert not style._hides(box, axes)
    assert axes.bbox.contains(*box.get_window_extent().p0)


def test_a_legend_without_room_goes_below_the_axes_and_its_label():
    fig, axes = style.figure("Title")
    for k in range(12):
        axes.plot(X, np.sin(40 * X + k) * (k + 1), label=f"line {k}" if k < 4 else None)
    axes.set_xlabel("time (s)")
    axes.legend(loc="upper right", title="stack")
    drawn(fig)
    box = axes.get_legend()
    assert [text.get_text() for text in box.get_texts()] == [f"line {k}" for k in range(4)]
    assert box.get_title().get_text() == "stack"
    label = axes.xaxis.label.get_window_extent()
    frame = box.get_window_extent()
    assert frame.y1 <= label.y0
    assert fig.bbox.y0 <= frame.y0


@pytest.mark.parametrize(("low", "high"), [(0.86, 1.31), (0.94, 1.0), (20.0, 41.0)])
def test_a_logarithmic_axis_of_less_than_a_decade_has_numbers(low, high):
    fig, axes = style.figure("Title")
    axes.plot([1, 2, 3], [low, high, low])
    axes.set_yscale("log")
    drawn(fig)
    ends = axes.get_ylim()
    within = [t for t in axes.yaxis.get_major_ticks() if ends[0] <= t.get_loc() <= ends[1]]
    assert len(within) >= 3
    assert all(float(t.label1.get_text()) == pytest.approx(t.get_loc()) for t in within)
