"""The verdicts on record, `verdicts.json`: whether each item's quick form holds, why it falls short where it
does, and the figures got.

`python -m ackclock.reproduce.verdicts [ID...]` runs the items and writes the file anew; reasons that stand
there are kept.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ackclock.cli.console import note
from ackclock.reproduce.item import ITEMS, Outcome

FILE = Path(__file__).with_name("verdicts.json")
HOLDS, FALLS_SHORT = "holds", "falls short"


def recorded() -> dict[str, dict[str, Any]]:
    """The verdicts by id: `verdict`, `reason` (a sentence, empty where all checks hold), `got` (check:
    figures).
    """
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def verdict(outcome: Outcome) -> str:
    """An outcome's verdict."""
    return HOLDS if outcome.holds else FALLS_SHORT


def disagreement(id: str, outcome: Outcome) -> str | None:
    """What the record says otherwise of an item that was run; None when it agrees."""
    found = recorded().get(id)
    if found is None:
        return f"{id} has no verdict on record: run `python -m ackclock.reproduce.verdicts {id}`"
    if outcome.skipped:
        return None
    if found["verdict"] != verdict(outcome):
        short = "; ".join(f"{c.name}: {c.got} instead of {c.expected}" for c in outcome.checks if not c.holds)
        return f"{id} now {verdict(outcome)}, on record it {found['verdict']}{': ' + short if short else ''}"
    if found["verdict"] == FALLS_SHORT and not found["reason"]:
        return f"{id} falls short, and the record gives no reason"
    return None


def keep(outcomes: dict[str, Outcome]) -> None:
    """Records what items gave."""
    record = {id: entry for id, entry in recorded().items() if id in ITEMS}
    for id, outcome in outcomes.items():
        if outcome.skipped:
            note(f"{id} was skipped, and its verdict stays: {outcome.skipped}")
            continue
        reason = "" if outcome.holds else record.get(id, {}).get("reason", "")
        record[id] = {
            "verdict": verdict(outcome),
            "reason": reason,
            "got": {c.name: c.got for c in outcome.checks},
        }
    ordered = {id: record[id] for id in ITEMS if id in record}
    FILE.write_text(json.dumps(ordered, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main(ids: list[str]) -> int:
    """Runs items, by default all, and records what they give."""
    keep({id: ITEMS[id].run() for id in ids or list(ITEMS)})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
