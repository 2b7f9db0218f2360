from __future__ import annotations

from pathlib import Path

import click

from ackclock.cli import completion
from ackclock.cli.run import override
from ackclock.cli.whole import Whole
from ackclock.console import bar, note, print_json, print_table, say
from ackclock.exit_codes import FELL_SHORT
from ackclock.quantities import seconds


@click.command("passport")
@click.argument("window", required=False, shell_complete=completion.policies("window"))
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a part of the stack under test, such as window.c=0.2. May be repeated.",
)
@click.option(
    "--stack",
    metavar="STACK",
    shell_complete=completion.stacks,
    help="The preset for the rest of its stack, and of those of Reno and CUBIC; rack+prr by default.",
)
@click.option("--only", multiple=True, metavar="ID", help="Run this criterion alone. May be repeated.")
@click.option("--list", "listing", is_flag=True, help="List the criteria instead of running them.")
@click.option(
    "--full", is_flag=True, help="Longer, with ten seeds; by default a minute at most on two cores."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the page, the numbers of all networks and a summary.",
)
@click.option(
    "--workers",
    type=Whole(1, 1024),
    help="Runs side by side; one per core by default. Results do not depend on it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    window: str | None,
    overrides: tuple[str, ...],
    stack: str | None,
    only: tuple[str, ...],
    listing: bool,
    full: bool,
    out: Path | None,
    workers: int | None,
    as_json: bool,
) -> int | None:
    """Test a congestion controller by the criteria of RFC 9743: WINDOW, such as `cubic`, `cubic(c=0.2)` or a
    preset such as `linux`.

    Reno and CUBIC run in the same simulated networks, and set the bounds. Exit code 1 where it is harmful.

    \b
        ackclock passport cubic
        ackclock passport "cubic(beta_cubic=0.9)" --only beside-reno
    """
    from ackclock.passport import CRITERIA, Subject, passport
    from ackclock.results import folder

    if listing:
        rows = [(c.id, c.section, c.title, c.about) for c in CRITERIA]
        if as_json:
            print_json([dict(zip(("id", "rfc9743", "title", "about"), row, strict=True)) for row in rows])
        else:
            headings = ("id", "RFC 9743", "title", "about")
            print_table([(name, "left") for name in headings], rows, names=("id",))
        return None
    if window is None:
        raise click.UsageError("no WINDOW is given, such as `cubic`; `ackclock policies window` lists them")
    subject = Subject.parse(window, stack, dict(map(override, overrides)))
    if out is not None:
        folder.check_writable(out)
    with bar(f"passport of {subject.text}") as progress:
        found = passport(subject, full=full, only=list(only), workers=workers, progress=progress)
    written = found.save(out) if out is not None else None
    if as_json:
        print_json({**found.summary, **({"folder": str(written.absolute())} if written else {})})
    else:
        say(found.text.rstrip("\n"))
        note(f"{seconds(found.seconds)}.{f' Folder: {written}' if written else ''}")
    return FELL_SHORT if found.harmful else None
