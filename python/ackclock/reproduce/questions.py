"""The page "What these papers did not know": the open questions of the registers, with their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.reproduce import full, pages
from ackclock.reproduce.item import ITEMS
from ackclock.reproduce.papers import PAPERS, Paper, paper_of
from ackclock.reproduce.verdicts import recorded

SURPRISING: dict[str, str] = {
    "I-X10": "that every client ends up backlogged, since that is the best strategy whatever the others do "
    "(section III-D).",
    "B-X17": "that some of the other precautions of 1986 are still needed, lest the network collapse "
    "(section 1).",
    "B-X16": "that flows over several bottlenecks gain as those over one do (section 5.2).",
}
"""The questions whose answers would surprise the authors most, and what they would have expected; the first
comes first.
"""
MARK = "question"


def questions(paper: Paper) -> list[str]:
    """The ids of a paper's open questions, in the order of its items."""
    return [id for id, marks in paper.ids().items() if MARK in marks]


def page(record: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """The page in Markdown. record: by id, by default what is on record."""
    found = recorded() if record is None else record
    asked = {paper.name: questions(paper) for paper in PAPERS.values()}
    answered = [id for ids in asked.values() for id in ids if found.get(id, {}).get("answer")]
    open_ones = [id for ids in asked.values() for id in ids if id not in answered]
    text = (
        "# What these papers did not know\n\nEach paper leaves questions open. Here they are, with "
        "the answers that experiments here give, and how sure they are. The evidence behind each answer, "
        "numbers and figures, is on the page of its paper; `ackclock reproduce ID` runs it "
        "again.\n"
    )
    first = [id for id in SURPRISING if id in answered]
    if first:
        text += "\n## What would surprise the authors most\n\n"
        text += "".join(
            f"{n}. **{ITEMS[id].title}** ([{id}]({link(id)}), {paper_of(id).title}). They would have "
            f"expected: {SURPRISING[id]} {found[id]['answer']}\n"
            for n, id in enumerate(first, 1)
        )
    for paper in PAPERS.values():
        rest = [id for id in asked[paper.name] if id in answered and id not in first]
        if rest:
            text += f"\n## {paper.citation}\n"
            text += "".join(section(id, found[id]) for id in rest)
    if open_ones:
        text += f"\nNot answered yet: {', '.join(open_ones)}.\n"
    return text


def section(id: str, entry: Mapping[str, Any]) -> str:
    """One question with its answer."""
    text = f"\n### {ITEMS[id].title}\n\n{entry['answer']} ([{id}]({link(id)}))\n"
    if entry["figures"]:
        name = next(iter(entry["figures"]))
        text += f"\n![{ITEMS[id].title}](papers/images/{pages.image(id, name)})\n"
    if said := full.sentence(id):
        text += f"\n{said}\n"
    return text


def link(id: str) -> str:
    """The section of a question on the page of its paper."""
    return f"papers/{paper_of(id).name}.md#{pages.anchor(id)}"
