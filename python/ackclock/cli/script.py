from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from ackclock import files as reading
from ackclock._core import (
    InputError,
    MissingRightError,
    quantity,
    run_script,
    script_dialects,
    script_ip_versions,
)
from ackclock.cli import completion, differ
from ackclock.cli.whole import Whole
from ackclock.console import note, print_json, say
from ackclock.exit_codes import DONE, FELL_SHORT
from ackclock.quantities import count, seconds

MOST_BYTES = 1 << 20
"""The largest script that is read."""
EVENTS = 8
"""Events before a failure that are shown."""


@click.command("script")
@click.argument("files", metavar="FILE...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--world",
    type=click.Choice(["engine", "kernel"]),
    help="What is tested: the engine, in virtual time, or this machine's kernel, in real time. "
    "[default: engine]",
)
@click.option(
    "--stack",
    metavar="STACK",
    shell_complete=completion.stacks,
    help="The stack that is tested, such as cubic+rack; `ackclock policies` lists them.",
)
@click.option(
    "--dialect",
    type=click.Choice(script_dialects()),
    help="The system whose habits the host has, and its stack where --stack gives none. [default: linux]",
)
@click.option(
    "--ip",
    type=click.Choice(script_ip_versions()),
    help="The version of IP, where a script has no --ip_version. [default: ipv4]",
)
@click.option(
    "--mtu",
    metavar="BYTES",
    type=Whole(68, 65535),
    help="The largest packet, where a script has no --mtu. [default: 1500]",
)
@click.option("--tolerance", metavar="TIME", help="How far times may be off. [default: the script's, or 4ms]")
@click.option(
    "--define",
    "defines",
    metavar="NAME[=VALUE]",
    multiple=True,
    help="Define a word of scripts, for #ifdef and in place of its value. May be repeated.",
)
@click.option(
    "--departures",
    is_flag=True,
    help="Depart from the RFCs where the dialect's system does; always so with --differ.",
)
@click.option("--show", is_flag=True, help="Show the whole timeline of each script.")
@click.option("--differ", "differs", is_flag=True, help="Find where two stacks differ, by random scripts.")
@differ.options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    files: tuple[Path, ...],
    world: str | None,
    stack: str | None,
    dialect: str | None,
    ip: str | None,
    mtu: int | None,
    tolerance: str | None,
    defines: tuple[str, ...],
    departures: bool,
    show: bool,
    differs: bool,
    as_json: bool,
    **search: Any,
) -> int:
    """Run scripted tests in packetdrill's language, FILE.pkt or folders of them, against a stack in virtual
    time, or against this machine's kernel.

    A script injects packets and makes system calls, each at its time, and says what must leave, and when.
    Shell commands are not run: settings by sysctl are applied, others are listed. The kernel's TCP runs in a
    network namespace of its own, which needs root or user namespaces. Exit code 1: a script failed; 2: a file
    is not a script, or the privileges are missing.

    With --differ, random conversations run on the stack and --against another one, which is the kernel by
    default. The same seed gives the same conversations. Each difference is confirmed, made as short as
    possible, and written as a script to the folder --out, one for each cause. Exit code 1: there is a
    difference that --known does not explain.
    """
    if differs:
        for value, option in [
            (files, "FILE"),
            (world, "--world"),
            (defines, "--define"),
            (departures, "--departures"),
            (show, "--show"),
        ]:
            if value:
                raise InputError(f"`{option}` is for scripts that there are; leave it out with `--differ`")
        return differ.command(dialect or "linux", stack, tolerance, as_json, **search)
    differ.refuse(search)
    if not files:
        raise InputError("no scripts are given; give FILE.pkt or folders of them, or `--differ`")
    world = world or "engine"
    if world == "kernel" and (stack or dialect or departures):
        given = f"--stack {stack}" if stack else f"--dialect {dialect}" if dialect else "--departures"
        raise InputError(f"`{given}` says what the engine runs; leave it out with `--world kernel`")
    options = {
        "world": world,
        "dialect": dialect or "linux",
        "stack": stack,
        "ip": ip,
        "mtu": mtu,
        "tolerance": None if tolerance is None else round(quantity("time", tolerance) * 1e9),
        "defines": [_definition(text) for text in defines],
        "departs": departures,
    }
    begun = time.perf_counter()
    outcomes = [_run(path, options) for path in _scripts(files)]
    failed = [o for o in outcomes if not o["passed"]]
    if as_json:
        print_json(outcomes)
    else:
        for outcome in outcomes:
            _show(outcome, show)
        took = time.perf_counter() - begun
        number = "1 script" if len(outcomes) == 1 else f"{count(len(outcomes))} scripts"
        say(f"{number}: {len(outcomes) - len(failed)} passed, {len(failed)} failed ({seconds(took)})")
    return FELL_SHORT if failed else DONE


def _definition(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name:
        raise InputError(f"`--define {text}` is no definition; give NAME or NAME=VALUE")
    # A name alone stands for itself, for `#ifdef NAME`.
    return name, value if equals else name


def _scripts(files: tuple[Path, ...]) -> list[Path]:
    """The scripts themselves, and those in folders by name."""
    found: list[Path] = []
    for path in files:
        try:
            inside = sorted(path.rglob("*.pkt")) if path.is_dir() else [path]
        except OSError as e:
            # A folder that vanishes meanwhile, or that this user may not read.
            raise InputError(
                f"`{path}` cannot be searched for scripts ({e.filename}: {e.strerror}); name the files"
            ) from None
        if not inside:
            raise InputError(f"`{path}` has no script; scripts end in .pkt")
        found += inside
    return found


def _run(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    text = reading.text(path, MOST_BYTES, "expected a script (.pkt), or a folder with some")
    try:
        outcome: dict[str, Any] = json.loads(run_script(str(path), text, path.parent, **options))
    except MissingRightError as e:
        raise InputError(str(e)) from None
    return outcome


def _show(outcome: dict[str, Any], whole: bool) -> None:
    failure = outcome["failure"]
    if failure is None:
        say(f"ok    {outcome['script']}")
    else:
        say(f"FAIL  {outcome['script']}:{failure['line']}: {failure['why']}")
    timeline = outcome["timeline"]
    if whole or failure is not None:
        shown = timeline if whole else timeline[-EVENTS:]
        for i, event in enumerate(shown):
            last = failure is not None and i + 1 == len(shown)
            at = "" if event["at"] is None else f"{event['at']:.6f}"
            say(f"{'x' if last else ' '} {event['line']:>4} {at:>11}  {event['expected']}")
            if event["got"] is not None and (last or (whole and event["got"] != event["expected"])):
                say(f"  {'':>4} {'got':>11}  {event['got']}")
        for text in outcome["notes"]:
            note(f"      {text}")
