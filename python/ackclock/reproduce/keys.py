"""Which keys `--set` takes for an item: those of the scenarios that it runs first, with their values."""

from __future__ import annotations

import contextlib
import difflib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ackclock._core import ScenarioError
from ackclock.reproduce.item import Item, Setting
from ackclock.scenario import Scenario
from ackclock.scenario.tree import inline
from ackclock.scenario.variation import OWN, Variation

BARE = re.compile(r"[A-Za-z0-9_-]+")
NEAR = 3
"""Keys that are named in place of one that is not known."""
NAME, NUMBER = "NAME", "N"
"""What stands in a key for the label of a stack and for the place in a list, where there are several."""


@dataclass
class Key:
    """A key that `--set` takes."""

    key: str
    values: list[str] = field(default_factory=list)
    """The values that the scenarios have, as `--set` takes them."""
    scenarios: set[int] = field(default_factory=set)
    """Which scenarios have it, by number."""
    stands_for: dict[str, list[str]] = field(default_factory=dict)
    """For a word in capitals in the key: what it stands for."""


class _Enough(Exception):
    """The scenarios are known: nothing has to run."""


class _Handed(Variation):
    """Takes what an item hands over first, and stops it there."""

    def take(self, scenarios: Sequence[Scenario]) -> list[Scenario]:
        self.handed = list(scenarios)
        raise _Enough

    def fresh(self) -> Variation:
        return self


def keys(item: Item, full: bool = False) -> tuple[list[Key], int]:
    """The keys of the scenarios that an item runs first, and how many scenarios these are; none for an
    item that runs no scenario.
    """
    handed = _Handed()
    handed.handed = []
    with contextlib.suppress(_Enough):
        item.run(Setting(full, variation=handed))
    found: dict[str, Key] = {}
    taken: dict[str, bool] = {}
    for n, scenario in enumerate(handed.handed):
        tree = scenario.resolve_tree()
        for parts, value in _leaves(tree):
            exact, text = ".".join(parts), _given(value)
            if parts[0] in OWN:
                continue
            if exact not in taken:
                taken[exact] = _takes(scenario, exact, text)
            if taken[exact]:
                _add(found, parts, tree, text, n)
    for key in found.values():
        if key.stands_for.get(NUMBER) == ["0"]:
            key.key = ".".join("0" if part == NUMBER else part for part in key.key.split("."))
            del key.stands_for[NUMBER]
    return list(found.values()), len(handed.handed)


def nearest(wanted: str, known: Sequence[Key]) -> list[str]:
    """The keys that are most like one that is not among them: those that end the same first, such as
    `path.rtt` for `rtt`.
    """
    end = wanted.rpartition(".")[2]
    names = [k.key for k in known]
    same = [name for name in names if name.rpartition(".")[2] == end]
    ends = {name.rpartition(".")[2]: name for name in reversed(names)}
    alike = [*difflib.get_close_matches(wanted, names, NEAR)]
    alike += [ends[e] for e in difflib.get_close_matches(end, ends, NEAR)]
    return list(dict.fromkeys([*same, *alike]))[:NEAR]


def _add(found: dict[str, Key], parts: list[str], tree: dict[str, Any], text: str, n: int) -> None:
    general, stands_for = list(parts), {}
    if parts[0] == "stacks" and len(tree["stacks"]) > 1:
        general[1], stands_for[NAME] = NAME, [parts[1]]
    for i, part in enumerate(parts):
        if part.isdecimal():
            general[i], stands_for[NUMBER] = NUMBER, [part]
    name = ".".join(general)
    key = found.setdefault(name, Key(name))
    key.scenarios.add(n)
    if text not in key.values:
        key.values.append(text)
    for word, (stands,) in stands_for.items():
        known = key.stands_for.setdefault(word, [])
        if stands not in known:
            known.append(stands)


def _leaves(value: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[list[str], Any]]:
    """The dotted keys of a tree, each with its value; lists of tables by the number of one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*at, key if BARE.fullmatch(key) else json.dumps(key)))
    elif isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
        for i, inner in enumerate(value):
            yield from _leaves(inner, (*at, str(i)))
    else:
        yield list(at), value


def _given(value: Any) -> str:
    return value if isinstance(value, str) else inline(value)


def _takes(scenario: Scenario, key: str, value: str) -> bool:
    """Whether a scenario takes its own value of a key."""
    try:
        scenario.but({key: value}).resolve_tree()
    except ScenarioError:
        return False
    return True
