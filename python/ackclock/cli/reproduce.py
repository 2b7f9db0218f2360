from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from ackclock.console import bar, note, print_json, print_table, say


@click.command("reproduce")
@click.argument("name", metavar="[ID | PAPER | all]", required=False)
@click.option("--list", "listing", is_flag=True, help="List the items instead of running them.")
@click.option(
    "--full",
    is_flag=True,
    help="Use the paper's own sizes; by default an item takes at most a minute on two cores.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs/reproduce"),
    show_default=True,
    help="Folder for data and figures.",
)
@click.option("--workers", type=click.IntRange(1, 1024), help="Runs side by side; one per core by default.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    name: str | None, listing: bool, full: bool, out: Path, workers: int | None, as_json: bool
) -> int | None:
    """Reproduce items of the papers: figure, numbers, verdict. Exit code 1 where a check falls short."""
    from ackclock.reproduce.item import Setting, find, save
    from ackclock.reproduce.papers import order
    from ackclock.results import folder

    items = find(name or "all")
    if listing or name is None:
        rows = [i.listing() for i in sorted(items, key=lambda i: order(i.id))]
        if as_json:
            print_json(rows)
        else:
            print_table(
                [(key, "left") for key in ("id", "paper", "kind", "title")],
                [list(row.values()) for row in rows],
                names=("id", "kind"),
            )
        return None
    for i in items:
        folder.check_writable(out / i.id)
    results = []
    for i in items:
        began = time.monotonic()
        with bar(i.id) as progress:
            setting = Setting(full, workers, progress)
            outcome = i.run(setting)
        results.append(save(i, outcome, setting, began, out))
        if not as_json:
            _show(results[-1])
    holds = all(r["holds"] is not False for r in results)
    if as_json:
        print_json(
            results[0]
            if len(results) == 1 and name and name.casefold() == items[0].id.casefold()
            else {"holds": holds, "items": results}
        )
    elif len(results) > 1:
        skipped = sum(bool(r["skipped"]) for r in results)
        say(
            f"{sum(bool(r['holds']) for r in results)} of {len(results)} items "
            f"hold{f', {skipped} were skipped' if skipped else ''}."
        )
    return None if holds else 1


def _show(result: dict[str, Any]) -> None:
    say(f"{result['id']} ({result['paper']}, {result['kind']}): {result['title']}")
    rows = [
        ("holds" if c["holds"] else "FALLS SHORT", c["name"], c["expected"], c["got"])
        for c in result["checks"]
    ]
    print_table(
        [("", "left"), ("check", "left"), ("expected", "left"), ("got", "left")], rows, names=("", "check")
    )
    if result["skipped"]:
        say(f"Skipped, neither passed nor failed: {result['skipped']}")
    for reference in result["points_at"]:
        _show_reference(reference)
    for test in result["tests"]:
        say(f"Tested by {test}")
    for what, chosen in result["choices"].items():
        say(f"Unstated in the paper: {what}. Chosen: {chosen}.")
    for line in result["notes"]:
        say(line)
    if result["answer"]:
        say(f"\nThe answer: {result['answer']}")
    note(
        f"{'Data and figure' if result['figures'] else 'Data' if result['data'] else 'Summary'} in "
        f"{result['folder']}"
    )
    say()


def _show_reference(reference: dict[str, Any]) -> None:
    source = f" Source: {reference['source']}." if reference["source"] else ""
    about = f": {reference['about']}" if reference["about"] else ""
    say(f"\n{reference['reference']}{about}{source}")
    rows = [(p["name"], p["here"], p["default"], p["values"], p["about"]) for p in reference["params"]]
    if rows:
        print_table([(name, "left") for name in ("parameter", "here", "default", "values", "meaning")], rows)
