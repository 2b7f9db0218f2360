"""Fits a table to the width of a terminal: headings wrap, names fold, and the columns that matter least are
left out. Names are always shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len, chop_cells

GAP, NARROW_GAP = 3, 2
"""Spaces between columns, and fewer on a terminal that is too narrow for these."""
NAMES, LAST, TEXT = (24, 16), 10, 12
"""Widths to which names are folded. The first is tried before another column is left out; the last one keeps
a table from showing little but names. Other text is folded to `TEXT`.
"""


@dataclass
class Column:
    """One column: its heading, its side, its cells, and how wide it is to be."""

    heading: str
    side: str
    cells: list[str]
    name: bool = False
    """Whether it names the row."""
    width: int = 0

    @property
    def natural(self) -> int:
        """The width at which nothing is folded."""
        return widest([self.heading, *self.cells])

    def least(self, name: int) -> int:
        """The least width at which it reads well: headings broken between words, numbers before their spread,
        text folded, and names folded to the width `name`.
        """
        words = max(map(cell_len, self.heading.split()), default=0)
        inside = widest(self.cells if self.side == "left" else map(apart, self.cells))
        if self.side == "left":
            inside = min(inside, name if self.name else max(TEXT, words))
        return max(inside, words)

    def laid(self) -> list[str]:
        """The cells, folded to that width."""
        if self.side == "left":
            return [folded(cell, self.width) for cell in self.cells]
        return self.cells if widest(self.cells) <= self.width else [apart(cell) for cell in self.cells]


@dataclass
class Fitted:
    """Columns that fit, with their widths, the spaces between them, and the headings of those left out."""

    columns: list[Column]
    gap: int = GAP
    left_out: list[str] = field(default_factory=list)
    name: int = NAMES[0]
    """The width to which names may be folded."""

    @property
    def least(self) -> int:
        """The width of all of them at their narrowest."""
        return sum(c.least(self.name) for c in self.columns) + self.gap * (len(self.columns) - 1)

    @property
    def natural(self) -> int:
        """The width at which nothing is folded."""
        return sum(c.natural for c in self.columns) + self.gap * (len(self.columns) - 1)


def fit(
    columns: Sequence[tuple[str, str]],
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    names: Sequence[str] = (),
    spare: Sequence[str] = (),
    stack: Sequence[str] = (),
    short: Mapping[str, str] | None = None,
) -> Fitted:
    """A table in `width` columns of a terminal; see `print_table`."""
    names = names or [heading for heading, _ in columns[:1]]
    every = [
        Column(heading, side, [row[i] for row in rows], heading in names)
        for i, (heading, side) in enumerate(columns)
    ]
    found = Fitted(every)
    for found.gap in (GAP, NARROW_GAP):
        if found.natural <= width:
            return _spread(found, width)
    called = [(c.heading, c) for c in every]
    for c in every:
        c.heading = (short or {}).get(c.heading, c.heading)
    for found.name in NAMES:
        if found.least <= width:
            return _spread(found, width)
    _leave_out(found, width, [(heading, c) for wanted in spare for heading, c in called if heading == wanted])
    if stack and found.least > width:
        _stack(found, [c for wanted in stack for heading, c in called if heading == wanted])
    if found.least > width:
        found.name = LAST
    # The columns that the caller can spare were not enough: the ones furthest from the names go next.
    _leave_out(found, width, [(heading, c) for heading, c in reversed(called) if not c.name])
    return _spread(found, width)


def _leave_out(found: Fitted, width: int, spare: Iterable[tuple[str, Column]]) -> None:
    for heading, column in spare:
        if found.least <= width or len(found.columns) == 1:
            return
        if any(c is column for c in found.columns):
            found.columns = [c for c in found.columns if c is not column]
            found.left_out.append(heading)


def _stack(found: Fitted, parts: list[Column]) -> None:
    """Stacks columns as the lines of one cell."""
    place = next(i for i, c in enumerate(found.columns) if c is parts[0])
    cells = ["\n".join(lines) for lines in zip(*(c.cells for c in parts), strict=True)]
    rest = [c for c in found.columns if all(c is not part for part in parts)]
    found.columns = [
        *rest[:place],
        Column("\n".join(c.heading for c in parts), "left", cells, True),
        *rest[place:],
    ]


def _spread(found: Fitted, width: int) -> Fitted:
    """Gives every column a width: its least, then what is left to names first and evenly to the others, up to
    their natural width.
    """
    for c in found.columns:
        c.width = c.least(found.name)
    left = width - found.gap * (len(found.columns) - 1) - sum(c.width for c in found.columns)
    while left < 0 and (widest_one := max(found.columns, key=lambda c: c.width)).width > 1:
        # Names alone are too wide for this terminal: they fold further.
        widest_one.width -= 1
        left += 1
    for group in ([c for c in found.columns if c.name], [c for c in found.columns if not c.name]):
        while left > 0 and (wanting := [c for c in group if c.width < c.natural]):
            min(wanting, key=lambda c: c.width).width += 1
            left -= 1
    return found


def widest(texts: Iterable[str]) -> int:
    """The longest line of all of them."""
    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)


def apart(cell: str) -> str:
    """A number with its spread below it."""
    return cell.replace(" ± ", "\n± ")


def folded(text: str, width: int) -> str:
    """A text in lines of that width, broken at spaces and behind the marks of composed names where that can
    be done.
    """
    lines = []
    for line in text.split("\n"):
        current = ""
        # Not behind the dashes that an option begins with.
        for piece in re.findall(r".+?(?:(?<=[^\s-])[+,;:/_-]+\s*|\s+|$)", line) or [""]:
            if current and cell_len(current + piece.rstrip()) > width:
                lines.append(current.rstrip())
                current = ""
            current += piece
            if cell_len(current.rstrip()) > width:
                *full, current = chop_cells(current, width)
                lines += full
        lines.append(current.rstrip())
    return "\n".join(lines)
