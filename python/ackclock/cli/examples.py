from __future__ import annotations

from pathlib import Path

import click

from ackclock.cli import completion
from ackclock.console import note, print_json, print_table


@click.command("examples")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=completion.examples)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(names: tuple[str, ...], as_json: bool) -> None:
    """List files to begin with, or write those named into this folder.

    They come with the package: scenarios, a plan of a sweep, a capture, a series of round-trip times and a
    script. A file that is there already is never overwritten.

    \b
        ackclock examples
        ackclock examples short-lossy.toml slow.pcap.gz
    """
    from ackclock.examples import EXAMPLES, find, write

    if names:
        written = write(list(names), Path())
        if as_json:
            print_json({"written": [str(file.absolute()) for file in written]})
            return
        for file in written:
            note(f"Wrote {file}: {find(file.name).command}")
        return
    if as_json:
        print_json([{"file": e.file, "about": e.about, "command": e.command} for e in EXAMPLES])
        return
    print_table(
        [("file", "left"), ("what it is", "left"), ("try", "left")],
        [[e.file, e.about, e.command] for e in EXAMPLES],
    )
    note("`ackclock examples FILE` writes one of them into this folder.")
