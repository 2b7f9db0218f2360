"""Output of the commands: results on stdout, progress and notes on stderr."""

from __future__ import annotations

import io
import json
import sys
import textwrap
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from ackclock.fitting import GAP, fit
from ackclock.plain import HIDDEN, plain


def note(text: str) -> None:
    """Prints a note on stderr."""
    print(_wrapped(plain(text), sys.stderr), file=sys.stderr, flush=True)


def say(text: str = "") -> None:
    """Prints a result as text on stdout."""
    print(_wrapped(plain(text, keep="\n"), sys.stdout))


def _wrapped(text: str, stream: TextIO | None) -> str:
    """Sentences broken between words for a terminal, which would break them anywhere. Lines with an
    indentation or with columns stay as they are, and so does text for a file or a pipe. A stream that was
    closed at the start is `None`.
    """
    if stream is None or not stream.isatty():
        return text
    width = Console(file=stream).width
    lines = []
    for line in text.split("\n"):
        prose = len(line) > width and "  " not in line and not line.startswith(" ")
        cut = textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) if prose else [line]
        lines += cut
    return "\n".join(lines)


def print_json(value: Any) -> None:
    """Prints a result as JSON on stdout."""
    print(_visible(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)))


def _visible(text: str) -> str:
    """Escapes, the JSON way, characters that a terminal would obey or hide."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(
        json.dumps(c)[1:-1] if c != "\n" and unicodedata.category(c) in HIDDEN else c for c in text
    )


def print_table(
    columns: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[str]],
    title: str | None = None,
    *,
    names: Sequence[str] = (),
    spare: Sequence[str] = (),
    stack: Sequence[str] = (),
    short: Mapping[str, str] | None = None,
    elsewhere: str = "--json has all",
) -> list[str]:
    """Prints a result for people. `columns` are headings with `left` or `right`. Off a terminal nothing is
    cut to its width.

    names: headings of the columns that name a row, the first one by default; they are never left out. spare:
    headings of columns that a narrow terminal leaves out, in this order; a note names them and, by
    `elsewhere`, where they are, and they are returned. stack: headings of columns that are stacked where that
    is not enough. short: shorter headings for a narrow terminal.
    """
    columns = [(plain(heading), side) for heading, side in columns]
    names, spare, stack = ([plain(name) for name in given] for given in (names, spare, stack))
    lines = [[plain(text) for text in row] for row in rows]
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        found = fit(columns, lines, console.width, names=names, spare=spare, stack=stack, short=short)
        table = _table(title, found.gap)
        for c in found.columns:
            table.add_column(c.heading, justify=c.side, width=c.width, overflow="fold")  # type: ignore[arg-type]
        for row in zip(*(c.laid() for c in found.columns), strict=True):
            table.add_row(*row)
        console.print(table)
        if found.left_out:
            note(f"Note: this terminal is too narrow for {', '.join(found.left_out)}; {elsewhere}.")
        return found.left_out
    table = _table(title, GAP)
    for heading, side in columns:
        table.add_column(heading, justify=side, no_wrap=side == "right", overflow="fold")  # type: ignore[arg-type]
    for row in lines:
        table.add_row(*row)
    needed = Measurement.get(console, console.options.update(max_width=100_000), table).maximum
    text = io.StringIO()
    Console(file=text, highlight=False, markup=False, emoji=False, width=needed).print(table)
    print("\n".join(line.rstrip() for line in text.getvalue().splitlines()))
    return []


def _table(title: str | None, gap: int) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, gap, 0, 0),
        header_style="bold",
    )


class Bar:
    """A progress bar on stderr: only on a terminal, and only once the work has taken a second."""

    def __init__(self, label: str) -> None:
        self._label = plain(label)
        self._began = time.monotonic()
        self._console = Console(file=sys.stderr)
        self._progress: Progress | None = None

    def __call__(self, share: float, label: str | None = None) -> None:
        """Shows that `share` of the work is done."""
        self._label = plain(label) if label else self._label
        if self._progress is None:
            if not self._console.is_terminal or time.monotonic() - self._began < 1.0:
                return
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
            )
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._progress.add_task(self._label, total=1.0)
            self._progress.start()
        self._progress.update(self._progress.task_ids[0], completed=share, description=self._label)

    def close(self) -> None:
        """Erases the bar."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


@contextmanager
def bar(label: str) -> Iterator[Bar]:
    """A `Bar` that is erased at the end, errors included."""
    shown = Bar(label)
    try:
        yield shown
    finally:
        shown.close()
