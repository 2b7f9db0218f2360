"""Runs real forms and writes their record, `real.json` of their papers, and the papers' pages:
`python -m ackclock.reproduce.real_record ID...`. With --full, at the paper's own size.
"""

from __future__ import annotations

import sys
import time
from datetime import datetime, timezone

from ackclock._core import InputError
from ackclock.console import note
from ackclock.reproduce import pages, record
from ackclock.reproduce.item import Setting, find
from ackclock.reproduce.papers import PAPERS
from ackclock.reproduce.real_form import FORMS, NAME, forms, image
from ackclock.reproduce.verdicts import entry


def main(names: list[str]) -> int:
    """Runs forms and records them. Exit code 2 for what has none, and where none is named."""
    full = "--full" in names
    if not set(names) - {"--full"}:
        note(f"name the items to run on the kernel's TCP; expected one or more of {', '.join(FORMS)}")
        return 2
    try:
        items = [i for name in names if name != "--full" for i in find(name)]
        forms(items)
    except InputError as e:
        note(str(e))
        return 2
    done = [i for i in items if i.id in FORMS]
    for i in done:
        began = time.monotonic()
        outcome = FORMS[i.id].run(Setting(full=full))
        if outcome.skipped:
            note(f"{i.id} was skipped, and its record stays: {outcome.skipped}")
            continue
        more = {"date": datetime.now(timezone.utc).date().isoformat(), "full": full}
        made = entry(outcome) | more | {"wall": round(time.monotonic() - began)}
        for name, fig in outcome.figures.items():
            (pages.IMAGES / image(i.id, name)).write_bytes(pages.png(fig))
        record.add(NAME, {i.id: made})
    for name in dict.fromkeys(i.paper for i in done):
        pages.place(PAPERS[name]).write_text(pages.page(PAPERS[name]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
