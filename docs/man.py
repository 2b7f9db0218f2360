"""Writes a man page for each command into a folder: `make man`. The text is that of `--help`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
from click_man.core import write_man_pages

from ackclock.cli import COMMANDS, command
from ackclock.cli import version as VERSION

MARK = re.compile(" *\b\n")
"""What tells click that lines stay as they are; man keeps those that begin with a space."""


def loaded(one: click.Command, context: click.Context) -> click.Command:
    """The command with all those below it, which are otherwise imported on use, and with a text for man: no
    marks of click, and no line that man would take for a request.
    """
    text = MARK.sub("", one.help or one.short_help or "")
    one.help = "\n".join(map(escaped, text.splitlines()))
    one.short_help = COMMANDS.get(one.name or "", one.short_help or one.get_short_help_str(100))
    for parameter in one.params:
        if isinstance(parameter, click.Option) and parameter.help is None:
            parameter.help = ""
    if isinstance(one, click.Group):
        for name in one.list_commands(context):
            below = one.get_command(context, name)
            if below is None:
                raise SystemExit(f"docs/man.py: `{name}` is listed and is no command")
            one.add_command(loaded(below, click.Context(below, info_name=name, parent=context)), name)
    return one


def escaped(line: str) -> str:
    """A line of text as man takes it."""
    text = line.replace("\\", "\\e")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def shaped(page: str) -> str:
    """A page as it reads well: its title in one word, words that are not hyphenated, lines that begin where
    the text does after those that are further in.
    """
    lines: list[str] = []
    for line in page.splitlines():
        if lines and lines[-1].startswith(" ") and line and not line.startswith((" ", ".")):
            lines.append(".br")
        if line.startswith(".TH "):
            title = line.split('"')[1]
            lines += [line.replace(title, title.replace(" ", "-"), 1), ".nh", ".ad l"]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def main(folder: str) -> None:
    """Writes the pages."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("ackclock*.1"):
        old.unlink()
    program = loaded(command, click.Context(command, info_name="ackclock"))
    write_man_pages("ackclock", program, version=VERSION, target_dir=str(target))
    pages = list(target.glob("ackclock*.1"))
    for page in pages:
        page.write_text(shaped(page.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{len(pages)} man pages in {target}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "target/man")
