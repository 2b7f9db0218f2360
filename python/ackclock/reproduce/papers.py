"""The papers: a folder each, beside this file or below a folder that `ACKCLOCK_PAPERS` names.

A paper's folder is a package whose `__init__.py` declares a `Paper` as `PAPER`, and whose other files declare
its items. `register.txt` may list the ids that are wanted, and `readings.py` say where the paper contradicts
itself.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ackclock._core import InputError

VARIABLE = "ACKCLOCK_PAPERS"
"""The environment variable that names further folders of papers, as PATH names its own."""

PACKAGE = "ackclock.reproduce"

PAPERS: dict[str, Paper] = {}
"""The papers by the name of their folder, in their order."""

MARKS = {
    "beyond": "asked beyond the paper",
    "question": "left open by the paper: answered with evidence, without a limit to hold",
    "missing": "not in the project yet",
}
"""Marks of ids in a register."""

LETTERS = "AEFTNXSU"
"""Letters of ids after the prefix, in their order: algorithms, equations, figures, tables, numbers, further
experiments, sceptics' questions, tools.
"""


@dataclass(frozen=True)
class Claim:
    """Something that a paper claims."""

    words: str
    """In a sentence of our own."""
    ids: tuple[str, ...]
    """The items that check it."""


@dataclass(frozen=True)
class Paper:
    """A paper, as its folder declares it."""

    prefix: str
    """The prefix of the ids of its items: a capital letter, and perhaps further letters and digits."""
    title: str
    """Its name in indexes, such as authors and year."""
    citation: str
    """Authors, title and year; the heading of its page."""
    order: float
    """Its place among the papers."""
    register: str = ""
    """The file in its folder that lists its ids, one a line, in the order in which they are shown, some with
    words of `MARKS` behind them. Without one, items are shown by kind and number.
    """
    remark: str = ""
    """A remark for indexes, in Markdown."""
    claims: tuple[Claim, ...] = ()
    """What it claims above all, with which its page begins."""
    folder: Path = Path()
    """Where it lies; known when it is found."""

    @property
    def name(self) -> str:
        """The name of its folder, by which commands know it."""
        return self.folder.name

    def ids(self) -> dict[str, frozenset[str]]:
        """The ids of its register, in order, with their marks."""
        if not self.register:
            return {}
        file = self.folder / self.register
        lines = file.read_text(encoding="utf-8").splitlines()
        words = [line.split() for line in lines if line.strip() and not line.startswith("#")]
        for id, *marks in words:
            if wrong := [m for m in marks if m not in MARKS]:
                raise InputError(f"{file}: {id} is marked `{wrong[0]}`; expected {', '.join(MARKS)}")
        return {id: frozenset(marks) for id, *marks in words}


def discover(path: list[str]) -> None:
    """Finds the papers in the folders of `path`, to which it adds those that the environment names, and
    imports their files, which declare items. Raises `InputError` for what is no paper.
    """
    path += map(str, further())
    names = [module.name for folder in path for module in pkgutil.iter_modules([folder]) if module.ispkg]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"there are two papers `{twice}` in {', '.join(path)}; call one otherwise")
    found = [declared(name) for name in names]
    for paper in sorted(found, key=lambda p: (p.order, p.name)):
        taken = next((p for p in PAPERS.values() if p.prefix == paper.prefix), None)
        if taken:
            raise InputError(f"{paper.folder}: the prefix `{paper.prefix}` is that of {taken.name}")
        PAPERS[paper.name] = paper
    # An item may use files of other papers, which must be known by then.
    for paper in found:
        for module in pkgutil.iter_modules([str(paper.folder)]):
            importlib.import_module(f"{PACKAGE}.{paper.name}.{module.name}")


def further() -> Iterable[Path]:
    """The folders of papers that the environment names."""
    for name in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        if not Path(name).is_dir():
            raise InputError(f"`{VARIABLE}` names `{name}`, which is not a folder")
        yield Path(name).absolute()


def declared(name: str) -> Paper:
    """The paper that the folder `name` declares."""
    package = importlib.import_module(f"{PACKAGE}.{name}")
    (folder,) = package.__path__
    paper = getattr(package, "PAPER", None)
    if not isinstance(paper, Paper):
        raise InputError(f"{folder}: `__init__.py` declares no `PAPER`, a `{__name__}.Paper`")
    if not re.fullmatch("[A-Z][A-Za-z0-9]*", paper.prefix):
        raise InputError(
            f"{folder}: the prefix is `{paper.prefix}`; give a capital letter, and perhaps further "
            "letters and digits"
        )
    return replace(paper, folder=Path(folder))


def paper_of(id: str) -> Paper:
    """The paper that an id belongs to by its prefix. Raises `InputError` for another prefix."""
    prefix = id.partition("-")[0]
    found = next((p for p in PAPERS.values() if p.prefix == prefix), None)
    if found is None:
        known = ", ".join(f"{p.prefix} ({p.name})" for p in PAPERS.values())
        raise InputError(f"{id} begins with the prefix of no paper; expected one of {known}")
    return found


def order(id: str) -> tuple[int, int, int, str]:
    """Sort key of ids: paper, kind, number. Raises `InputError` for text that is no id."""
    found = re.fullmatch(rf"\w+-([{LETTERS}])(\d+)(\w*)", id)
    if not found:
        raise InputError(f"{id} is no id such as M-F3 or M-F3a; letters of kinds are {', '.join(LETTERS)}")
    return list(PAPERS).index(paper_of(id).name), LETTERS.index(found[1]), int(found[2]), found[3]
