"""A live table of a capture that is still being written."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from ackclock.plain import plain
from ackclock.quantities import count, rate, seconds

if TYPE_CHECKING:
    from ackclock.results import Capture

INTERVAL = 1.0
"""Seconds between two tables."""
MORE = (("again", 88), ("state", 102), ("under way", 114))
"""Columns that wide terminals show, and the least width for each."""
LONGEST = 10.0
"""Rows of connections that were silent for longer (s, by the clock of the capture) are left out."""


def comes_in_a_pipe(file: Path) -> bool:
    """Whether a capture is read from a pipe, so that it may still be written."""
    try:
        mode = Path("/dev/stdin").stat().st_mode if str(file) == "-" else file.stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode)


def follow(file: Path, flow: str | None) -> Capture:
    """Reads a capture to its end or until Ctrl-C, with a live table on a terminal."""
    from ackclock.results.capture import follow_capture

    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        return follow_capture(file, lambda _: None, flow=flow)
    shown = Rates()
    with Live(console=console, transient=True, auto_refresh=False) as live:
        return follow_capture(
            file,
            lambda now: live.update(shown.table(now, console.width, console.height), refresh=True),
            INTERVAL,
            flow,
        )


class Rates:
    """Turns what connections have carried so far into what they carry."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, str, float], dict[str, Any]] = {}

    def table(self, now: dict[str, Any], width: int, height: int) -> Table:
        """The connections of which packets came last, as many as a terminal shows."""
        latest = max((c["latest"] for c in now["shown"]), default=0.0)
        rows = []
        for c in now["shown"]:
            key = (c["client"], c["server"], c["start"])
            before = self._before.get(key)
            passed = c["latest"] - before["latest"] if before else c["latest"] - c["start"]
            was = before["bytes"] if before else [0, 0]
            rates = [
                8 * (b - w) / passed if passed > 0 else 0.0 for b, w in zip(c["bytes"], was, strict=True)
            ]
            if latest - c["latest"] <= LONGEST:
                rows.append((sum(rates), c, rates))
        self._before = {(c["client"], c["server"], c["start"]): c for c in now["shown"]}
        rows.sort(key=lambda row: (-row[0], -row[1]["latest"]))
        table = Table(
            title=f"{count(now['connections'])} connections so far; Ctrl-C ends and analyses",
            title_justify="left",
            title_style="bold",
            box=None,
            pad_edge=False,
            padding=(0, 2, 0, 0),
            header_style="bold",
        )
        table.add_column("client", overflow="fold")
        table.add_column("server", overflow="fold")
        # A narrow terminal shows what comes first.
        more = [name for name, least in MORE if width >= least]
        for heading in ("up", "down", "RTT", *more):
            table.add_column(heading, justify="left" if heading == "state" else "right", no_wrap=True)
        for _, c, rates in rows[: max(height - 3, 1)]:
            rest = {
                "again": count(c["retransmitted"]),
                "under way": count(c["under_way"]),
                "state": "window closed" if c["closed"] else c["state"],
            }
            ends = (plain(c["client"]), plain(c["server"]))
            table.add_row(*ends, *map(rate, rates), seconds(c["rtt"]), *(rest[name] for name in more))
        return table
