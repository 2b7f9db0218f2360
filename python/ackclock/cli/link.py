from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from ackclock import _core
from ackclock._core import InputError, MissingRightError
from ackclock.cli.whole import Whole
from ackclock.console import note
from ackclock.exit_codes import CANNOT_RUN, NOT_FOUND
from ackclock.link import report, terminal
from ackclock.link.path import DOWN, UP, Direction, EmulatedPath, described
from ackclock.quantities import rate, seconds

QUANTITIES = {
    "rate": ("RATE", "How fast the link is, such as 10Mbit/s."),
    "delay": ("TIME", "Propagation delay, one way, such as 50ms."),
    "loss": ("P", "Packets lost at random, such as 1% or 0.01."),
    "queue": ("QUEUE", "The queue: a name (codel), a name with parameters (red(limit=2bdp)), or a length."),
    "trace": (
        "FILE",
        "A file of moments at which packets may leave, in Mahimahi's format; in place of a rate.",
    ),
}
"""Options of a direction: metavar and meaning."""
FILES = (".pcap", ".pcapng", ".cap", ".gz", ".zst")
"""Ends of the names of captures."""


def directed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of both directions, and of either."""
    for prefix, where in (("up-", "from the command"), ("down-", "to the command")):
        for name, (metavar, _) in reversed(QUANTITIES.items()):
            words = f"As --{name}, for packets {where} only."
            command = click.option(f"--{prefix}{name}", metavar=metavar, help=words)(command)
    for name, (metavar, about) in reversed(QUANTITIES.items()):
        command = click.option(f"--{name}", metavar=metavar, help=about)(command)
    return command


@click.command("link", context_settings={"allow_interspersed_args": False})
@directed
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any key of a link in a scenario, for both directions or with `up.` or `down.` before it: --set "
    "down.jitter.mean=5ms. May be repeated.",
)
@click.option(
    "--scenario",
    type=click.Path(path_type=Path),
    help="Take the link, and the way back, from this scenario.",
)
@click.option(
    "--seed", type=Whole(0, 2**63 - 1), default=1, show_default=True, help="Seed of the random losses."
)
@click.option(
    "--server",
    metavar="COMMAND",
    help="Run this in a shell at the far end, as a server; the command reaches it at $ACKCLOCK_FAR, and "
    "nothing else.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Show rates and losses each second: of a shell in the title of the terminal, else as lines.",
)
@click.option(
    "--pcap",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for the captures of both ends, near.pcapng and far.pcapng.",
)
@click.option(
    "--summary",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File for the numbers at the end, as JSON.",
)
@click.option("--quiet", is_flag=True, help="No note at the start, no numbers at the end.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[--] [COMMAND]...")
def command(
    changes: tuple[str, ...],
    scenario: Path | None,
    seed: int,
    server: str | None,
    live: bool,
    pcap: Path | None,
    summary: Path | None,
    quiet: bool,
    arguments: tuple[str, ...],
    **quantities: str | None,
) -> int:
    """Run COMMAND, or a shell, behind an emulated link.

    COMMAND reaches what the machine reaches, but over the link; the address in $ACKCLOCK_FAR is the machine
    itself. Its exit status is passed on. Needs Linux, and root or user namespaces.

    \b
        ackclock link --rate 10Mbit/s --delay 50ms -- curl example.com
        ackclock link --rate 2Mbit/s --queue codel
    """
    if not any(quantities.values()) and not changes and scenario is None:
        raise click.UsageError(
            "there is no link to emulate; give --rate, --delay, --loss, --trace, --set or --scenario, such "
            "as `ackclock link --rate 10Mbit/s --delay 50ms`"
        )
    if not hasattr(_core, "link"):
        raise MissingRightError("`link` needs Linux (network namespaces and /dev/net/tun)")
    path = described(directions(quantities), scenario, changes, seed)
    words = sentence(path)
    shell = not arguments
    started = list(arguments) or [os.environ.get("SHELL") or "/bin/sh"]
    if code := cannot_run(started[0]):
        return code
    if summary is not None:
        check_file(summary)
    if pcap is not None:
        check_folder(pcap)
    with ExitStack() as stack:
        if pcap is not None:
            stack.enter_context(captures(pcap))
        titled = live and shell and sys.stderr.isatty()

        def progress(told: str) -> None:
            if told != "null":
                show(json.loads(told), titled)
            elif not quiet:
                leaves = "; `exit` leaves it" if shell else ""
                note(f"{'A shell' if shell else started[0]} behind {words}{leaves}.")

        if titled:
            stack.enter_context(terminal.own_title())
        stack.enter_context(terminal.given_back())
        sys.stdout.flush()
        told = _core.link(
            path.text,
            path.changes(),
            "link",
            path.folder,
            started,
            [f"{name}={value}" for name, value in os.environ.items()],
            ["/bin/sh", "-c", server] if server else None,
            pcap,
            live,
            progress,
        )
    found = json.loads(told)
    if summary is not None:
        write(summary, {"command": started, "link": words, **found})
    if not quiet:
        for text in report.summary(found):
            note(text)
        if pcap is not None:
            note(f"Captures: {pcap}/near.pcapng and far.pcapng.")
    return int(found["status"])


def directions(given: dict[str, str | None]) -> dict[str, Direction]:
    """The options of each direction; one for a direction alone counts more than one for both."""

    def one(name: str) -> Direction:
        values = {}
        for key in QUANTITIES:
            for place, option in ((f"{name}_{key}", f"--{name}-{key}"), (key, f"--{key}")):
                value = given[place]
                if value is not None:
                    values[key] = (value, option)
                    break
        # A rate of its own takes the place of a trace for both, and the other way round.
        for key, other in (("rate", "trace"), ("trace", "rate")):
            if given[f"{name}_{key}"] is not None and given[f"{name}_{other}"] is None:
                values.pop(other, None)
        return Direction(**values)

    return {name: one(name) for name in (UP, DOWN)}


def sentence(path: EmulatedPath) -> str:
    """The link in words, once it is known to be one."""
    resolved = path.check()
    ends = {DOWN: resolved["link"], UP: resolved["back"]}
    parts = {name: _words(end, name in path.endless) for name, end in ends.items()}
    if parts[UP] == parts[DOWN]:
        return f"{parts[UP]}, each way"
    return f"{parts[DOWN]} down and {parts[UP]} up"


def _words(end: dict[str, Any], endless: bool) -> str:
    delay = seconds(_core.quantity("time", str(end["delay"])))
    how = "a trace" if "mahimahi" in end else "a schedule" if "schedule" in end else None
    fast = rate(_core.quantity("rate", str(end["rate"])))
    return f"{how or fast} and {delay}" if not endless else f"a delay of {delay}"


def cannot_run(program: str) -> int | None:
    """The exit status, as a shell's, for a command that cannot be run; says why."""
    if shutil.which(program):
        return None
    there = os.path.exists(program) and "/" in program
    why = "is no program that may be run" if there else "is not found; give the name of a program or its path"
    note(f"ackclock link: the command `{program}` {why}")
    return CANNOT_RUN if there else NOT_FOUND


def show(second: dict[str, Any], titled: bool) -> None:
    """Shows the figures of a second."""
    if titled:
        terminal.set_title(report.title(second))
    else:
        print(report.line(second), file=sys.stderr, flush=True)


@contextmanager
def captures(folder: Path) -> Iterator[None]:
    """A folder of ours for both captures. It can be read, and taken again, while they are being written."""
    from ackclock.results import owned

    if folder.exists():
        owned.remove(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with owned.marked(folder) as mark:
        owned.finish(mark, folder, ("near.pcapng", "far.pcapng"))
        yield


def check_folder(path: Path) -> None:
    """Refuses a folder that could not be written, before the command runs, and a name that is meant as that
    of a file.
    """
    from ackclock.results import target

    if path.suffix.lower() in FILES and not path.is_dir():
        raise InputError(
            f"`--pcap {path}` has the name of a file; expected a folder, which gets a file for each end of "
            f"the link, such as `--pcap {path.with_suffix('')}`"
        )
    target.check_writable(path)


def check_file(path: Path) -> None:
    """Refuses a file that could not be written, before the command runs."""
    if path.is_dir():
        raise InputError(f"`--summary {path}` is a folder; give a file")
    parent = path.absolute().parent
    if not parent.is_dir():
        raise InputError(
            f"`--summary {path}`: the folder `{parent}` does not exist; give a file in one that does"
        )
    if not os.access(path if path.exists() else parent, os.W_OK):
        raise InputError(f"`--summary {path}` cannot be written; give another file")


def write(path: Path, value: dict[str, Any]) -> None:
    """Writes JSON."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
