"""Runs real forms and writes their record, `real.json` of their papers, and the papers' pages:
`python -m ackclock.reproduce.real_record ID...`. With --full, at the paper's own size.

`python -m ackclock.reproduce.real_record because ID 'SENTENCE'` records why a form falls short, of the
figures on record: a reason is stale once they change.
"""

from __future__ import annotations

import sys
import time
from datetime import datetime, timezone

from ackclock._core import DriveError, InputError
from ackclock.console import note
from ackclock.reproduce import pages, record
from ackclock.reproduce.item import Item, Setting, find
from ackclock.reproduce.papers import PAPERS
from ackclock.reproduce.real_form import FORMS, NAME, forms, image, recorded
from ackclock.reproduce.verdicts import HOLDS, entry, short, stale


def main(names: list[str]) -> int:
    """Runs forms and records them. Exit code 2 for what has none, where none is named, and where
    the system refuses what a form needs."""
    full = "--full" in names
    if not set(names) - {"--full"}:
        note(f"name the items to run on the kernel's TCP; expected one or more of {', '.join(FORMS)}")
        return 2
    try:
        if names[0] == "because":
            if len(names) != 3:
                raise InputError(
                    f"`because` has {len(names) - 1} values; expected two, an item and a sentence"
                )
            explain(*names[1:])
            return 0
        items = [i for name in names if name != "--full" for i in find(name)]
        forms(items)
    except InputError as e:
        note(str(e))
        return 2
    done, failed = [i for i in items if i.id in FORMS], 0
    for i in done:
        try:
            keep(i, full)
        except DriveError as e:
            failed = 2
            note(f"{i.id}: {e}; its record stays")
    write(done)
    return failed


def keep(i: Item, full: bool) -> None:
    """Runs the form of an item and records what it gave."""
    began = time.monotonic()
    outcome = FORMS[i.id].run(Setting(full=full))
    if outcome.skipped:
        note(f"{i.id} was skipped, and its record stays: {outcome.skipped}")
        return
    more = {"date": datetime.now(timezone.utc).date().isoformat(), "full": full}
    old = recorded().get(i.id, {})
    made = entry(outcome, old.get("reason", ""), old.get("explains"))
    if stale(made):
        note(f"{i.id}: its reason was written for other figures than these: `real_record because {i.id} ...`")
    made |= more | {"wall": round(time.monotonic() - began)}
    for name, fig in outcome.figures.items():
        (pages.IMAGES / image(i.id, name)).write_bytes(pages.png(fig))
    record.add(NAME, {i.id: made})


def explain(id: str, reason: str) -> None:
    """Records why a form falls short, of the figures that are on record. Raises `InputError` where it
    does not.
    """
    found = recorded().get(id)
    if found is None or found["verdict"] == HOLDS:
        raise InputError(
            f"{id} has no form that falls short on record; expected an item whose form on the kernel does"
        )
    if not reason.strip():
        raise InputError(f"the reason of {id} is empty; expected a sentence")
    record.add(NAME, {id: {**found, "reason": reason.strip(), "explains": short(found["checks"])}})
    write(find(id))


def write(items: list[Item]) -> None:
    """Writes the pages of the papers of these items."""
    for name in dict.fromkeys(i.paper for i in items):
        pages.place(PAPERS[name]).write_text(pages.page(PAPERS[name]), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
