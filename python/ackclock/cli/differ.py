"""`ackclock script --differ`: random conversations that find where two stacks differ."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ackclock import files
from ackclock._core import InputError, MissingRightError, differ_scripts, quantity
from ackclock.cli.whole import Whole
from ackclock.console import Bar, bar, note, print_json, print_table, say
from ackclock.exit_codes import DONE, FELL_SHORT
from ackclock.quantities import count, seconds

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

KERNEL = "kernel"
"""What a stack is compared with by default."""
NUMBER = 1000
"""Conversations where neither their number nor a time is given."""
MOST = 1 << 62
"""More conversations than any time is enough for."""
JOBS = {True: 32, False: 2}
"""Conversations at once: many against a kernel, where they mostly wait."""
TOLERANCES = {True: "15ms", False: "1ms"}
"""Against a kernel, and in virtual time."""
EVERY = 10.0
"""Seconds between two lines of progress off a terminal."""


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of the search to a command."""
    for option in reversed(
        [
            click.option(
                "--against",
                metavar="kernel|STACK",
                help="With --differ: what the stack is compared with. [default: kernel]",
            ),
            click.option(
                "--peer",
                type=click.Choice(["random", "sound"]),
                help="With --differ: a `random` peer also sends what no sound one does; a `sound` one "
                "reports what has arrived over a network that loses, reorders and duplicates. "
                "[default: random]",
            ),
            click.option(
                "--seed",
                type=Whole(0, (1 << 64) - 1),
                help="With --differ: seed of the conversations. [default: 1]",
            ),
            click.option(
                "--count",
                "number",
                type=Whole(1, MOST),
                help=f"With --differ: how many conversations. [default: {NUMBER}, or what --minutes allows]",
            ),
            click.option(
                "--minutes",
                type=click.FloatRange(0, 100_000, min_open=True),
                metavar="MINUTES",
                help="With --differ: begin no conversation after this time.",
            ),
            click.option(
                "--jobs",
                type=Whole(1, 512),
                help="With --differ: conversations at once. [default: 32 with a kernel, 2 in virtual time]",
            ),
            click.option(
                "--known",
                metavar="FILE",
                type=click.Path(path_type=Path),
                help="With --differ: explained differences, such as scripts/differ.toml.",
            ),
            click.option(
                "--out",
                type=click.Path(path_type=Path),
                help="With --differ: folder for a script of each difference.",
            ),
        ]
    ):
        command = option(command)
    return command


def refuse(search: dict[str, Any]) -> None:
    """Refuses options of the search where there is none."""
    for name, value in search.items():
        if value is not None:
            option = "--count" if name == "number" else f"--{name}"
            raise InputError(f"`{option}` belongs to `--differ`; give that too, or leave it out")


def command(
    dialect: str,
    stack: str | None,
    tolerance: str | None,
    as_json: bool,
    *,
    against: str | None,
    peer: str | None,
    seed: int | None,
    number: int | None,
    minutes: float | None,
    jobs: int | None,
    known: Path | None,
    out: Path | None,
) -> int:
    """Runs the search and shows what it found. Returns the exit code."""
    from ackclock.results import folder

    against = against or KERNEL
    real = against == KERNEL
    explained = [] if known is None else _explained(known)
    if out is not None:
        folder.check_writable(out)
    most = number or (NUMBER if minutes is None else MOST)
    with bar("differ") as progress:
        try:
            text = differ_scripts(
                seed=1 if seed is None else seed,
                sound=peer == "sound",
                count=most,
                seconds=None if minutes is None else minutes * 60,
                jobs=jobs or JOBS[real],
                against=against,
                dialect=dialect,
                stack=stack,
                tolerance=round(quantity("time", tolerance or TOLERANCES[real]) * 1e9),
                known=explained,
                progress=_Report(progress, most, minutes),
            )
        except MissingRightError as e:
            raise InputError(str(e)) from None
    found: dict[str, Any] = json.loads(text)
    _name(found)
    if out is not None:
        folder.write(out, lambda directory: _write(found, directory))
    if as_json:
        print_json(found)
    else:
        _show(found, out)
    return FELL_SHORT if found["found"] else DONE


class _Report:
    """Shows how far a search is, on a terminal as a bar, elsewhere as lines."""

    def __init__(self, progress: Bar, most: int, minutes: float | None) -> None:
        self._bar = progress
        self._most, self._minutes = most, minutes
        self._begun = self._shown = time.monotonic()

    def __call__(self, run: int, same: int, causes: int) -> None:
        now = time.monotonic()
        label = f"{count(run)} conversations, {count(run - same)} differ, {count(causes)} causes"
        share = run / self._most
        if self._minutes is not None:
            share = max(share, (now - self._begun) / (60 * self._minutes))
        self._bar(min(share, 0.99), label)
        if now - self._shown >= EVERY:
            self._shown = now
            note(f"{seconds(now - self._begun)}: {label}")


def _explained(path: Path) -> list[tuple[str, str]]:
    """Causes with their explanations."""
    try:
        tree = tomllib.loads(files.text(path, files.SCENARIO, "expected a list of differences (TOML)"))
    except tomllib.TOMLDecodeError as e:
        raise InputError(f"`{path}` is no TOML: {e}") from None
    entries = tree.get("difference")
    if not isinstance(entries, list):
        raise InputError(f"`{path}` has no [[difference]]; each has a cause and why it is none to mend")
    for i, entry in enumerate(entries, 1):
        fine = isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("cause", "why"))
        if not fine:
            raise InputError(f"`{path}`: [[difference]] {i} needs a `cause` and a `why`, both text")
    return [(entry["cause"], entry["why"]) for entry in entries]


def _name(found: dict[str, Any]) -> None:
    """Gives each script a name."""
    for i, cause in enumerate(found["found"], 1):
        words = "".join(c if c.isalnum() else "-" for c in cause["cause"].lower())
        cause["file"] = f"{i:03}-{'-'.join(filter(None, words.split('-')))[:80]}.pkt"


def _write(found: dict[str, Any], directory: Path) -> None:
    from ackclock.results import folder

    for cause in found["found"]:
        if cause["script"] is not None:
            (directory / cause["file"]).write_text(cause["script"], encoding="utf-8")
    folder.write_json(found, directory / folder.SUMMARY)


def _show(found: dict[str, Any], out: Path | None) -> None:
    if found["found"]:
        rows = [(count(c["count"]), c["cause"], count(c["number"])) for c in found["found"]]
        columns = [("conversations", "right"), ("cause", "left"), ("first", "right")]
        print_table(columns, rows, names=["cause"])
    if found["explained"]:
        rows = [(count(c["count"]), c["cause"]) for c in found["explained"]]
        print_table([("conversations", "right"), ("explained", "left")], rows, names=["explained"])
    explained = sum(c["count"] for c in found["explained"])
    rate = found["run"] / max(found["seconds"], 1e-3) * 3600
    say(
        f"{count(found['run'])} conversations in {seconds(found['seconds'])} ({count(round(rate))} an hour): "
        f"{count(found['same'])} the same, {count(explained)} with explained differences, "
        f"{count(len(found['found']))} causes without, {count(found['timed'])} of late timers, "
        f"{count(found['fleeting'])} did not show again, "
        f"{count(found['late'])} were late"
    )
    if out is not None:
        say(f"Scripts: {out.absolute()}")
