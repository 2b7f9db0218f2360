"""The declaration of items of the papers, their results, and their checks."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock._core import InputError
from ackclock.reproduce import papers, pointer
from ackclock.scenario.variation import Variation, applied
from ackclock.sweep.cluster import held

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from ackclock.results import Run
    from ackclock.scenario import Scenario

ITEMS: dict[str, Item] = {}
"""Every item that can be run, by id, in the order of the papers' lists."""

KINDS = {
    "CF": "formula",
    "MODEL": "step-by-step model",
    "SIM": "packet simulation",
    "REAL": "real packets; skipped with a note where the system does not permit them",
    "CAP": "capture analysis",
    "RULE": "an algorithm, and the policy that implements it",
    "TOOL": "an instrument, and the command that implements it",
    "CONTEXT": "a statement of the paper about its time; nothing to check",
}
"""The kinds of item."""


HOLDS, FALLS_SHORT, OPEN = "holds", "falls short", "open"
"""Verdicts. Open: the interval over the seeds contains the limit, so that more seeds would decide."""

NEAR = 3
"""How many similar names an error for an unknown one has at most."""
COMPARED = frozenset({"below", "less than", "fewer than", "more than", "no more than", "most"})
"""Words of limits that say no more than the side on which they lie."""


@dataclass(frozen=True)
class Number:
    """A number, and the limits between which it must lie."""

    value: float
    least: float = -math.inf
    most: float = math.inf


@dataclass(frozen=True)
class Check:
    """One statement of the register, and whether it holds."""

    name: str
    expected: str
    got: str
    holds: bool
    number: Number | None = None
    """What it compares, where that is one number."""
    open: bool = False
    """Whether the interval over its seeds contains the limit: it then neither holds nor falls short."""

    @property
    def verdict(self) -> str:
        """Holds, falls short or open."""
        return OPEN if self.open else HOLDS if self.holds else FALLS_SHORT

    def row(self) -> dict[str, Any]:
        """What records and JSON hold of it; `open` only where it is."""
        row = {"name": self.name, "expected": self.expected, "got": self.got, "holds": self.holds}
        return {**row, "open": True} if self.open else row


@dataclass
class Outcome:
    """The result of running an item."""

    checks: list[Check]
    tables: dict[str, pa.Table] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What was realised, such as a measured load, and what qualifies the result."""
    answer: str = ""
    """The answer that the results give, in a sentence or two, if the item is a question."""
    skipped: str = ""
    """Why it could not be run here, such as a missing permission; it then neither holds nor falls short."""
    full_form: bool = False
    """Whether `--full` runs another form than this one; known once the item was run."""

    @property
    def holds(self) -> bool:
        """True when every check does."""
        return self.verdict == HOLDS

    @property
    def verdict(self) -> str:
        """Falls short where a check does; else open where one is; else it holds."""
        verdicts = {c.verdict for c in self.checks}
        return FALLS_SHORT if FALLS_SHORT in verdicts else OPEN if OPEN in verdicts else HOLDS


class Setting:
    """How an item is to be run."""

    def __init__(
        self,
        full: bool = False,
        workers: int | None = None,
        progress: Callable[[float, str], None] = lambda share, label: None,
        variation: Variation | None = None,
    ) -> None:
        self._full = full
        self.workers = workers
        """Runs side by side; None for one per core."""
        self.progress = progress
        """A callback that gets the share of the work that is done."""
        self.variation = variation or Variation()
        """Other seeds and values than the item's own, and the scenarios that it ran."""
        self.asked = False
        """Whether the item asked for its size: otherwise both forms are one."""

    @property
    def full(self) -> bool:
        """The paper's own sizes instead of at most a minute on two cores."""
        self.asked = True
        return self._full

    def run_all(
        self, scenarios: Sequence[Scenario], label: str, share: tuple[float, float] = (0.0, 1.0)
    ) -> list[Run]:
        """Runs scenarios side by side; their runs in the same order. share: the part of the item's work that
        this is.
        """
        from ackclock.sweep import run_all

        return run_all(
            scenarios,
            workers=self.workers,
            progress=lambda part, _: self.progress(share[0] + part * (share[1] - share[0]), label),
        )


@dataclass(frozen=True)
class Item:
    """One item of the register, as its file declares it."""

    id: str
    paper: str
    kind: str
    title: str
    choices: dict[str, str]
    """What the paper leaves unstated, and what was chosen."""
    function: Callable[[Setting], Outcome]
    points_at: tuple[str, ...] = ()
    """What implements it in this project: references, as in `pointer`."""
    tests: tuple[str, ...] = ()
    """The tests of it: path and name."""

    def run(self, setting: Setting | None = None) -> Outcome:
        """Runs it, and checks that what it points at exists."""
        setting = setting or Setting()
        with held(), applied(setting.variation):
            outcome = self.function(setting)
        outcome.full_form = setting.asked
        outcome.checks += self.pointers()
        return outcome

    def pointers(self) -> list[Check]:
        """Whether what it points at exists: policies and commands with the parameters named, and, in a
        checkout, the tests.
        """
        checks = []
        for text in self.points_at:
            problem = pointer.Reference.parse(text).problem(ITEMS)
            checks.append(Check(text, "exists", problem or "exists", problem is None))
        if self.tests and pointer.in_checkout():
            missing = [m for m in map(pointer.missing_test, self.tests) if m]
            checks.append(
                Check(
                    "tests of it",
                    f"{len(self.tests)} exist",
                    "; ".join(missing) or f"{len(self.tests)} exist",
                    not missing,
                )
            )
        return checks

    def listing(self) -> dict[str, str]:
        """What a listing shows."""
        return {"id": self.id, "paper": self.paper, "kind": self.kind, "title": self.title}


def item(
    id: str,
    *,
    kind: str,
    title: str,
    choices: dict[str, str] | None = None,
    points_at: Iterable[str] = (),
    tests: Iterable[str] = (),
) -> Callable[[Callable[[Setting], Outcome]], Callable[[Setting], Outcome]]:
    """Declares the decorated function as the register's item `id`; its paper is the folder that its file lies
    in.

    points_at, tests: what implements and what tests it, as in `pointer`.
    """

    def declare(function: Callable[[Setting], Outcome]) -> Callable[[Setting], Outcome]:
        paper = function.__module__.split(".")[-2]
        _add(Item(id, paper, kind, title, choices or {}, function, tuple(points_at), tuple(tests)))
        return function

    return declare


def rule(
    id: str,
    title: str,
    *points_at: str,
    tests: Iterable[str],
    points: Callable[[], list[Check]] | None = None,
    kind: str = "RULE",
    choices: dict[str, str] | None = None,
) -> None:
    """Declares an algorithm of the register (kind TOOL: an instrument) by what implements it in this project,
    and its tests.

    points: checks of the rule itself, evaluated as connections evaluate it.
    """

    def reproduce(setting: Setting) -> Outcome:
        return Outcome(points() if points else [])

    paper = papers.paper_of(id).name
    _add(Item(id, paper, kind, title, choices or {}, reproduce, points_at, tuple(tests)))


def context(id: str, title: str, statement: str) -> None:
    """Declares an item of the register that is context: shown, with nothing to check."""
    paper = papers.paper_of(id).name
    _add(Item(id, paper, "CONTEXT", title, {}, lambda setting: Outcome([], notes=[statement])))


def pinned(
    id: str,
    title: str,
    points: Callable[[], list[Check]],
    choices: dict[str, str] | None = None,
    *,
    points_at: Iterable[str] = (),
    tests: Iterable[str] = (),
) -> None:
    """Declares a formula whose checks, the register's points, `points` gives; its paper is that of
    `points`.
    """

    def reproduce(setting: Setting) -> Outcome:
        import pyarrow as pa

        checks = points()
        return Outcome(
            checks,
            {
                "points": pa.table(
                    {name: [getattr(c, name) for c in checks] for name in ("name", "expected", "got")}
                )
            },
        )

    reproduce.__module__ = points.__module__
    item(id, kind="CF", title=title, choices=choices, points_at=points_at, tests=tests)(reproduce)


def _add(i: Item) -> None:
    """Adds an item to those that can be run. Raises `InputError` for an id that is taken or another
    paper's.
    """
    papers.order(i.id)
    if papers.paper_of(i.id).name != i.paper:
        raise InputError(f"{i.id} has the prefix of {papers.paper_of(i.id).name}, and lies in {i.paper}")
    if i.id in ITEMS:
        raise InputError(f"{i.id} is declared twice")
    ITEMS[i.id] = i


def arrange() -> None:
    """Puts the items into the order of their papers' folders and registers; what no register lists comes
    after, by kind and number.
    """
    names = sorted(papers.PAPERS)
    places = {id: n for n, id in enumerate(id for p in papers.PAPERS.values() for id in p.ids())}
    items = sorted(
        ITEMS.values(),
        key=lambda i: (names.index(i.paper), places.get(i.id, len(places)), papers.order(i.id)),
    )
    ITEMS.clear()
    ITEMS.update((i.id, i) for i in items)


def find(name: str) -> list[Item]:
    """The items of `name`: an id, a paper, or `all`."""
    wanted = name.casefold()
    found = [i for i in ITEMS.values() if wanted in (i.id.casefold(), i.paper.casefold(), "all")]
    if not found:
        names = {n.casefold(): n for n in (*ITEMS, *(i.paper for i in ITEMS.values()))}
        near = [f"`{names[n]}`" for n in difflib.get_close_matches(wanted, names, NEAR)]
        hint = f"did you mean {' or '.join(near)}? " if near else "ids are such as `M-F3`; "
        raise InputError(
            f"`{name}` is not an item that can be reproduced, nor a paper; {hint}`ackclock reproduce --list` "
            "lists all"
        )
    return found


def six_digits(name: str, got: Any, expected: Any) -> Check:
    """Holds when every number agrees with the register's to the six digits that it gives."""
    g, e = np.atleast_1d(np.asarray(got, float)), np.atleast_1d(np.asarray(expected, float))
    holds = g.shape == e.shape and bool(np.allclose(g, e, rtol=5e-6, atol=0))
    return Check(name, _list(e), _list(g), holds)


def exactly(name: str, got: Any, expected: Any) -> Check:
    """Holds when the two are equal."""
    return Check(name, _words(expected), _words(got), bool(got == expected))


def at_most(name: str, got: float, limit: float, wanted: str) -> Check:
    """Holds when `got` does not exceed `limit`; `wanted` says where the limit comes from."""
    return Check(
        name, _bound("at most", limit, wanted), f"{got:.6g}", bool(got <= limit), Number(got, most=limit)
    )


def at_least(name: str, got: float, limit: float, wanted: str) -> Check:
    """Holds when `got` is not below `limit`; `wanted` says where the limit comes from."""
    return Check(
        name, _bound("at least", limit, wanted), f"{got:.6g}", bool(got >= limit), Number(got, least=limit)
    )


def _bound(side: str, limit: float, wanted: str) -> str:
    """A limit in words: "at most 1.2", and in brackets where it comes from: "at most 2 (one tick)"."""
    why = wanted.rstrip(": ").removesuffix(side).removeprefix(f"{side} ").rstrip(",: ")
    return f"{side} {limit:.6g}" + (f" ({why})" if why and why not in COMPARED else "")


def within(name: str, got: float, expected: float, tolerance: float) -> Check:
    """Holds when `got` differs from `expected` by at most `tolerance`."""
    return Check(
        name,
        f"{expected:.6g} +/- {tolerance:.6g}",
        f"{got:.6g}",
        bool(abs(got - expected) <= tolerance),
        Number(got, expected - tolerance, expected + tolerance),
    )


def between(name: str, got: Any, low: float, high: float) -> Check:
    """Holds when there are numbers, and every one lies between the two, which it may equal."""
    g = np.atleast_1d(np.asarray(got, float))
    if not g.size:
        return Check(name, f"{low:.6g} to {high:.6g}", "nothing was measured", False)
    shown = f"{g.min():.6g} to {g.max():.6g}" if g.size > 1 else f"{g[0]:.6g}"
    number = Number(float(g[0]), low, high) if g.size == 1 else None
    return Check(name, f"{low:.6g} to {high:.6g}", shown, bool(((g >= low) & (g <= high)).all()), number)


def stated(name: str, got: str, holds: bool, expected: str = "true") -> Check:
    """Holds when `holds`; `got` shows the numbers on which that rests."""
    return Check(name, expected, got, bool(holds))


def _list(values: Iterable[float]) -> str:
    return ", ".join(f"{v:.6g}" for v in values)


def _words(value: Any) -> str:
    return (
        ", ".join(map(_words, value))
        if isinstance(value, list)
        else f"{value:.12g}"
        if isinstance(value, float)
        else str(value)
    )
