"""The recorded verdicts, `verdicts.json` of each paper: whether each item's quick form holds, why not if it
falls short, and its results, from which the papers' pages are written.

`python -m ackclock.reproduce.verdicts [ID | PAPER ...]` runs the items, by default all, and records their
results; recorded reasons are kept. `python -m ackclock.reproduce.verdicts because ID 'SENTENCE'` records why
an item falls short or is open, of the figures on record: a reason is stale once they change.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ackclock._core import InputError
from ackclock.console import note
from ackclock.reproduce import record
from ackclock.reproduce.item import FALLS_SHORT, HOLDS, OPEN, Outcome, find

NAME = "verdicts"


def recorded() -> dict[str, dict[str, Any]]:
    """The verdicts by id, as `entry` has them."""
    return record.read(NAME)


def entry(outcome: Outcome, reason: str = "", explains: dict[str, str] | None = None) -> dict[str, Any]:
    """The record of an outcome: `verdict`, `reason` (why it falls short or is open, a sentence; empty where
    all checks hold), `explains` (what the checks that do not hold gave when that was written), `full_form`
    (whether `--full` runs another form), `answer`, `checks`, `figures` (what each draws, as a
    digest, by name), `notes`.
    """
    return {
        "verdict": outcome.verdict,
        "reason": "" if outcome.holds else reason,
        "explains": {} if outcome.holds or not reason else explains or {},
        "full_form": outcome.full_form,
        "answer": outcome.answer,
        "checks": [c.row() for c in outcome.checks],
        "figures": digests(outcome),
        "notes": outcome.notes,
    }


def digests(outcome: Outcome) -> dict[str, str]:
    """What each figure of an outcome draws, as a digest, by name."""
    if not outcome.figures:
        return {}
    from ackclock.plot import drawn

    return {name: drawn.digest(fig) for name, fig in outcome.figures.items()}


def short(checks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What the checks that do not hold gave, by name."""
    return {c["name"]: c["got"] for c in checks if not c["holds"]}


def stale(found: Mapping[str, Any]) -> bool:
    """Whether the reason of an entry was written for other figures than those on record."""
    return bool(found["reason"]) and found.get("explains") != short(found["checks"])


def explain(id: str, reason: str) -> None:
    """Records why an item falls short or is open, of the figures that are on record. Raises `InputError`
    where it holds.
    """
    found = recorded().get(id)
    if found is None or found["verdict"] == HOLDS:
        raise InputError(f"{id} neither falls short nor is open on record; expected an item that does or is")
    if not reason.strip():
        raise InputError(f"the reason of {id} is empty; expected a sentence")
    record.add(NAME, {id: {**found, "reason": reason.strip(), "explains": short(found["checks"])}})


def disagreement(id: str, outcome: Outcome) -> str | None:
    """How the record differs from the outcome of an item; None if they agree."""
    found = recorded().get(id)
    if found is None:
        return f"{id} has no verdict on record: run `python -m ackclock.reproduce.verdicts {id}`"
    if outcome.skipped:
        return None
    if found["verdict"] != outcome.verdict:
        short = "; ".join(f"{c.name}: {c.got} instead of {c.expected}" for c in outcome.checks if not c.holds)
        words = f"{said(outcome.verdict)}, on record it {said(found['verdict'])}"
        return f"{id} now {words}{': ' + short if short else ''}"
    if found.get("full_form", outcome.full_form) != outcome.full_form:
        forms = "two forms, on record one" if outcome.full_form else "one form, on record two"
        return f"{id} now has {forms}"
    if found["verdict"] == FALLS_SHORT and not found["reason"]:
        return f"{id} falls short, and the record gives no reason"
    return None


def said(verdict: str) -> str:
    """A verdict as what an item does: holds, falls short, is open."""
    return f"is {OPEN}" if verdict == OPEN else verdict


def keep(outcomes: dict[str, Outcome]) -> None:
    """Records the results of items."""
    before, entries = recorded(), {}
    for id, outcome in outcomes.items():
        if outcome.skipped:
            note(f"{id} was skipped, and its verdict stays: {outcome.skipped}")
            continue
        old = before.get(id, {})
        entries[id] = entry(outcome, old.get("reason", ""), old.get("explains"))
        if stale(entries[id]):
            note(f"{id}: its reason was written for other figures than these: `verdicts because {id} ...`")
    record.add(NAME, entries)


def main(names: list[str]) -> int:
    """Runs items, by default all, and records their results."""
    try:
        if names[:1] == ["because"]:
            explain(*(names[1:] if len(names) == 3 else (" ".join(names[1:2]), "")))
            return 0
        items = [i for name in names or ["all"] for i in find(name)]
    except InputError as e:
        note(str(e))
        return 2
    keep({i.id: i.run() for i in items})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
