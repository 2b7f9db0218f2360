"""The recorded verdicts, `verdicts.json` of each paper: whether each item's quick form holds, why not if it
falls short, and its results, from which the papers' pages are written.

`python -m ackclock.reproduce.verdicts [ID | PAPER ...]` runs the items, by default all, and records their
results; recorded reasons are kept.
"""

from __future__ import annotations

import sys
from typing import Any

from ackclock._core import InputError
from ackclock.console import note
from ackclock.reproduce import record
from ackclock.reproduce.item import Outcome, find

NAME = "verdicts"
HOLDS, FALLS_SHORT = "holds", "falls short"


def recorded() -> dict[str, dict[str, Any]]:
    """The verdicts by id, as `entry` has them."""
    return record.read(NAME)


def verdict(outcome: Outcome) -> str:
    """An outcome's verdict."""
    return HOLDS if outcome.holds else FALLS_SHORT


def entry(outcome: Outcome, reason: str = "") -> dict[str, Any]:
    """The record of an outcome: `verdict`, `reason` (why it falls short, a sentence; empty where all
    checks hold), `full_form` (whether `--full` runs another form), `answer`, `checks`, names of `figures`,
    `notes`.
    """
    return {
        "verdict": verdict(outcome),
        "reason": "" if outcome.holds else reason,
        "full_form": outcome.full_form,
        "answer": outcome.answer,
        "checks": [c.row() for c in outcome.checks],
        "figures": list(outcome.figures),
        "notes": outcome.notes,
    }


def disagreement(id: str, outcome: Outcome) -> str | None:
    """How the record differs from the outcome of an item; None if they agree."""
    found = recorded().get(id)
    if found is None:
        return f"{id} has no verdict on record: run `python -m ackclock.reproduce.verdicts {id}`"
    if outcome.skipped:
        return None
    if found["verdict"] != verdict(outcome):
        short = "; ".join(f"{c.name}: {c.got} instead of {c.expected}" for c in outcome.checks if not c.holds)
        return f"{id} now {verdict(outcome)}, on record it {found['verdict']}{': ' + short if short else ''}"
    if found.get("full_form", outcome.full_form) != outcome.full_form:
        forms = "two forms, on record one" if outcome.full_form else "one form, on record two"
        return f"{id} now has {forms}"
    if found["verdict"] == FALLS_SHORT and not found["reason"]:
        return f"{id} falls short, and the record gives no reason"
    return None


def keep(outcomes: dict[str, Outcome]) -> None:
    """Records the results of items."""
    before, entries = recorded(), {}
    for id, outcome in outcomes.items():
        if outcome.skipped:
            note(f"{id} was skipped, and its verdict stays: {outcome.skipped}")
            continue
        entries[id] = entry(outcome, before.get(id, {}).get("reason", ""))
    record.add(NAME, entries)


def main(names: list[str]) -> int:
    """Runs items, by default all, and records their results."""
    try:
        items = [i for name in names or ["all"] for i in find(name)]
    except InputError as e:
        note(str(e))
        return 2
    keep({i.id: i.run() for i in items})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
