"""What the commands say: results on stdout, progress and notes on stderr."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table


def note(text: str) -> None:
    """Says something that is no result."""
    print(text, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Prints a result for programs."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_table(
    columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], title: str | None = None, spare: Sequence[str] = (), stack: Sequence[str] = ()
) -> list[str]:
    """Prints a result for people. `columns` are headings with `left` or `right`. Off a terminal nothing is cut to its width.

    spare: headings of columns that a narrow terminal does without, the first one first; those that it did without are returned. stack: headings of
    columns that stand below each other where that is not enough.
    """
    rows, left_out = [list(row) for row in rows], []
    console = Console(file=sys.stdout, highlight=False, markup=False)
    if console.is_terminal:
        columns, rows, left_out = narrowed(columns, rows, console.width, spare, stack)
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, GAP, 0, 0),
        header_style="bold",
    )
    for heading, side in columns:
        table.add_column(heading, justify=side, no_wrap=side == "right", overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*row)
    if console.is_terminal:
        console.print(table)
        return left_out
    needed = Measurement.get(console, console.options.update(max_width=100_000), table).maximum
    text = io.StringIO()
    Console(file=text, highlight=False, markup=False, width=needed).print(table)
    print("\n".join(line.rstrip() for line in text.getvalue().splitlines()))
    return left_out


GAP = 3
"""Spaces between columns."""


def narrowed(
    columns: Sequence[tuple[str, str]], rows: list[list[str]], width: int, spare: Sequence[str], stack: Sequence[str]
) -> tuple[list[tuple[str, str]], list[list[str]], list[str]]:
    """Columns and rows of a table that fits into `width` where that can be done, and the headings left out."""
    columns, left_out = list(columns), []

    def needed() -> int:
        each = [
            max(cell_len(line) for cell in (heading, *(r[i] for r in rows)) for line in cell.split("\n")) for i, (heading, _) in enumerate(columns)
        ]
        return sum(each) + GAP * (len(columns) - 1)

    def place(heading: str) -> int:
        return next(i for i, (name, _) in enumerate(columns) if name == heading)

    for heading in spare:
        if needed() <= width:
            break
        i = place(heading)
        left_out.append(heading)
        columns, rows = columns[:i] + columns[i + 1 :], [r[:i] + r[i + 1 :] for r in rows]
    if stack and needed() > width:
        i = place(stack[0])
        n = len(stack)
        columns = [*columns[:i], ("\n".join(stack), "left"), *columns[i + n :]]
        rows = [[*r[:i], "\n".join(r[i : i + n]), *r[i + n :]] for r in rows]
    return columns, rows, left_out


class Bar:
    """A progress bar on stderr: only on a terminal, and only once the work has taken a second."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._began = time.monotonic()
        self._console = Console(file=sys.stderr)
        self._progress: Progress | None = None

    def __call__(self, share: float, label: str | None = None) -> None:
        """Shows that `share` of the work is done."""
        self._label = label or self._label
        if self._progress is None:
            if not self._console.is_terminal or time.monotonic() - self._began < 1.0:
                return
            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._progress.add_task(self._label, total=1.0)
            self._progress.start()
        self._progress.update(self._progress.task_ids[0], completed=share, description=self._label)

    def close(self) -> None:
        """Takes the bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


@contextmanager
def bar(label: str) -> Iterator[Bar]:
    """A `Bar` that goes away at the end, whatever ends it."""
    shown = Bar(label)
    try:
        yield shown
    finally:
        shown.close()
