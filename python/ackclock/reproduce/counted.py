"""Which items hold at the paper's own size, and how many of its items those are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ackclock.reproduce import full
from ackclock.reproduce.item import ITEMS
from ackclock.reproduce.papers import Paper
from ackclock.reproduce.verdicts import HOLDS, OPEN

EXPERIMENTS, EQUATIONS, RULES = "experiments", "formulas", "algorithms and instruments"
QUESTIONS, CONTEXT, BEYOND = "open questions", "context, nothing to check", "beyond the paper"
GROUPS = (EXPERIMENTS, EQUATIONS, RULES, QUESTIONS, CONTEXT, BEYOND)
"""The groups that are counted apart."""
LETTERS = {"E": EQUATIONS, "A": RULES, "U": RULES, "S": BEYOND}
"""The group of an id by its letter; those of experiments are figures, tables, numbers and claims."""

FULL, ONLY, QUICK = "the full form", "its only form", "no run at the paper's size yet"
"""What decides a verdict. An item that does not ask for its size has one form."""


@dataclass
class Counts:
    """Items of a group: each is in one of the first five numbers."""

    holds: int = 0
    """At the paper's size."""
    short: int = 0
    """At the paper's size."""
    open: int = 0
    """At the paper's size: the interval over the seeds contains the limit."""
    not_run: int = 0
    """At the paper's size; the quick form may hold or not."""
    missing: int = 0
    """Not in the project yet."""
    quick: int = 0
    """Those whose quick form holds."""

    @property
    def of(self) -> int:
        """All that the register lists."""
        return self.holds + self.short + self.open + self.not_run + self.missing


def decided(id: str, entry: Mapping[str, Any]) -> tuple[str | None, str]:
    """The verdict of an item at the paper's own size, None if it was not run at it, and what decides. entry:
    the record of its quick form.
    """
    if found := full.recorded().get(id):
        return found["verdict"], FULL
    # Records that do not say whether there is a full form may have one.
    return (None, QUICK) if entry.get("full_form", True) else (entry["verdict"], ONLY)


def group(id: str, marks: Iterable[str] = ()) -> str:
    """The group that an id is counted in."""
    if "question" in marks:
        return QUESTIONS
    if "beyond" in marks:
        return BEYOND
    if id in ITEMS and ITEMS[id].kind == "CONTEXT":
        return CONTEXT
    return LETTERS.get(id.partition("-")[2][:1], EXPERIMENTS)


def count(paper: Paper, record: Mapping[str, Mapping[str, Any]]) -> dict[str, Counts]:
    """The counts of a paper by group. record: of the quick forms, by id. Items of context neither hold nor
    fall short.
    """
    marks = paper.ids() or {i.id: frozenset[str]() for i in ITEMS.values() if i.paper == paper.name}
    found = {name: Counts() for name in GROUPS}
    for id, of_id in marks.items():
        name = group(id, of_id)
        counts = found[name]
        if id not in record:
            counts.missing += 1
            continue
        verdict, _ = decided(id, record[id])
        if verdict is None or name == CONTEXT:
            counts.not_run += 1
        elif verdict == HOLDS:
            counts.holds += 1
        elif verdict == OPEN:
            counts.open += 1
        else:
            counts.short += 1
        counts.quick += record[id]["verdict"] == HOLDS and name != CONTEXT
    return {name: c for name, c in found.items() if c.of}


def sentence(counts: Mapping[str, Counts]) -> str:
    """How many experiments hold at the paper's size."""
    c = counts.get(EXPERIMENTS)
    if c is None:
        return "The paper has no experiments."
    return (
        f"{c.holds} of {c.of} experiments hold at the paper's own size (fall short: "
        f"{c.short}, open: {c.open}, not run at that size yet: {c.not_run}, not in the project yet: "
        f"{c.missing})."
    )
