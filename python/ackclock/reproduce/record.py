"""Records of results: JSON files in the folders of the papers, an entry for each id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ackclock.reproduce.item import ITEMS
from ackclock.reproduce.papers import PAPERS, Paper


def file(paper: Paper, name: str) -> Path:
    """The file of the record `name` of a paper, whether or not it exists."""
    return paper.folder / f"{name}.json"


def read(name: str) -> dict[str, dict[str, Any]]:
    """The entries of all papers by id."""
    found: dict[str, dict[str, Any]] = {}
    for paper in PAPERS.values():
        if (place := file(paper, name)).exists():
            found |= json.loads(place.read_text(encoding="utf-8"))
    return found


def add(name: str, entries: dict[str, dict[str, Any]]) -> None:
    """Replaces the entries of these ids. Entries without an item are removed from the records of their
    papers.
    """
    record = {**read(name), **entries}
    for paper in {ITEMS[id].paper for id in entries}:
        ordered = {id: record[id] for id, i in ITEMS.items() if i.paper == paper and id in record}
        text = json.dumps(ordered, indent=2, ensure_ascii=False) + "\n"
        file(PAPERS[paper], name).write_text(text, encoding="utf-8")
