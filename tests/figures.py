"""What is wrong with a figure for a reader who knows nothing but the figure."""

from __future__ import annotations

import re

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text

from ackclock.ids import ID

JARGON = re.compile(
    r"\b(?:non-)?CA events?\b|\bDA\b|\bS\d-C\d\b|\bclosed form|\brow model\b|^REXMT_\w$|^RTO_\w+$"
)
"""Words that only readers of a paper, or of our code, know."""
LONGEST = 60
"""Letters of a legend's entry: more of them are a paragraph."""
CAPITAL = re.compile(r"[A-Z][a-z]+\b(?!')")
"""A word with a capital, at the beginning of an axis's label; names such as `Jain's` have one."""
ROOM = 1.0
"""Pixels by which the bounding box of text may pass an edge."""


def problems(fig: Figure, *, drawn: bool = False) -> list[str]:
    """What is wrong with it: ids of items, the word for their list, words of a paper alone, labels of axes
    with a capital, legends that are paragraphs, and, where it is drawn for that, text that does not fit in.
    """
    texts = [t for t in fig.findobj(Text) if t.get_visible() and t.get_text().strip()]
    found = [f"an id in `{t.get_text()}`" for t in texts if ID.search(t.get_text())]
    found += [f"a register in `{t.get_text()}`" for t in texts if "register" in t.get_text()]
    found += [f"`{m[0]}` in `{t.get_text()}`" for t in texts if (m := JARGON.search(t.get_text()))]
    labels = [a.label.get_text() for axes in fig.axes for a in (axes.xaxis, axes.yaxis)]
    found += [f"a capital in the label `{label}`" for label in labels if CAPITAL.match(label)]
    entries = [t.get_text() for box in fig.findobj(Legend) for t in box.get_texts()]
    found += [f"a paragraph in the legend: `{entry}`" for entry in entries if len(entry) > LONGEST]
    return found + (outside(fig) if drawn else [])


def outside(fig: Figure) -> list[str]:
    """Text beyond the edges of the figure as it is drawn."""
    canvas = FigureCanvasAgg(fig)
    canvas.draw()
    renderer, edges = canvas.get_renderer(), fig.bbox
    found = []
    for text in fig.findobj(Text):
        if not (text.get_visible() and text.get_text().strip()) or text.get_clip_on():
            continue
        box = text.get_window_extent(renderer)
        beyond = max(edges.x0 - box.x0, box.x1 - edges.x1, edges.y0 - box.y0, box.y1 - edges.y1)
        shown = any(text in (*axes.get_xticklabels(), *axes.get_yticklabels()) for axes in fig.axes)
        if beyond > ROOM and not shown:
            found.append(f"`{text.get_text()}` is {beyond:.0f} pixels outside of the figure")
    return found
