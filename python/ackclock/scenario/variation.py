"""Changes to every scenario that a piece of code hands to the simulator, and a list of those that it handed
over: other seeds and other values, for code that makes its scenarios itself.

    v = Variation(overrides=(("path.rtt", "50ms"),))
    with applied(v):
        run = scenario.simulate()
    v.scenarios  # the resolved scenario that was run
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ackclock._core import InputError, ScenarioError
from ackclock.scenario.scenario import BEFORE_RUNS, Scenario
from ackclock.scenario.tree import Tree

OWN = ("seed", "seeds", "repeat")
"""Keys of a scenario that `shift` sets."""


@dataclass
class Variation:
    """What changes, and what was handed over meanwhile."""

    shift: int = 0
    """Added to every seed."""
    overrides: tuple[tuple[str, str], ...] = ()
    """Keys with their values, such as `("path.rtt", "50ms")`, set in every scenario that has them."""
    scenarios: dict[str, int] = field(default_factory=dict)
    """The resolved scenarios in the order in which they were handed over, with how often each was."""
    refused: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    """The resolved scenarios that did not take the value of a key, by key and by the reason."""
    seeds: list[int] = field(default_factory=list)
    """The smallest and the largest seed before the shift; empty where nothing asked for one."""

    def __post_init__(self) -> None:
        for key, value in self.overrides:
            if key in OWN:
                raise InputError(f"`--set {key}={value}`: seeds are given by `--seed` and `--seeds`")

    @property
    def width(self) -> int:
        """How many seeds in a row cover those that were asked for; 0 where nothing asked for one."""
        return self.seeds[1] - self.seeds[0] + 1 if self.seeds else 0

    def take(self, scenarios: Sequence[Scenario]) -> list[Scenario]:
        """The scenarios as they are to be run. Raises `ScenarioError` for a change that is wrong for all."""
        tried = [self._changed(s) for s in scenarios]
        for n in range(len(self.overrides)):
            wrong = [errors[n] for _, errors in tried if n in errors]
            if wrong and len(wrong) == len(tried):
                raise wrong[0]
        taken = []
        for s, errors in tried:
            s, text = self._seeded(s)
            taken.append(s)
            for n, error in errors.items():
                key, value = self.overrides[n]
                reason = str(error).removeprefix(f"--set {key}={value}: ").removeprefix("the scenario: ")
                self._refuse(key, reason, text)
        return taken

    def fresh(self) -> Variation:
        """One that changes the same and has seen nothing."""
        return Variation(self.shift, self.overrides)

    def seed(self, given: int) -> int:
        """A seed, shifted."""
        self._saw([given])
        return given + self.shift

    def include(self, other: Variation) -> None:
        """Counts what another variation saw as seen by this one."""
        for text, count in other.scenarios.items():
            self.scenarios[text] = self.scenarios.get(text, 0) + count
        for key, reasons in other.refused.items():
            for reason, texts in reasons.items():
                for text in texts:
                    self._refuse(key, reason, text)
        if other.seeds:
            self._saw(other.seeds)

    def _changed(self, s: Scenario) -> tuple[Scenario, dict[int, ScenarioError]]:
        """A scenario with the changes that it takes, and why it does not take the others."""
        errors: dict[int, ScenarioError] = {}
        for n, (key, value) in enumerate(self.overrides):
            changed = s.but({key: value})
            try:
                _check_stack(s.resolve_tree(), key, value)
                changed.resolve_tree()
            except ScenarioError as e:
                errors[n] = e
                continue
            s = changed
        return s, errors

    def _refuse(self, key: str, reason: str, text: str) -> None:
        texts = self.refused.setdefault(key, {}).setdefault(reason, [])
        if text not in texts:
            texts.append(text)

    def _seeded(self, s: Scenario) -> tuple[Scenario, str]:
        seeds = s.resolve_tree()["seeds"]
        self._saw(seeds)
        text = s.resolve()
        if self.shift:
            # The resolved text has `seeds` whichever keys the scenario gives them by.
            s = replace(s, text=text, overrides=()).but({"seeds": [seed + self.shift for seed in seeds]})
            text = s.resolve()
        self.scenarios[text] = self.scenarios.get(text, 0) + 1
        return s, text

    def _saw(self, seeds: Sequence[int]) -> None:
        both = [*self.seeds, *seeds]
        self.seeds = [min(both), max(both)]


def _check_stack(tree: Tree, key: str, value: str) -> None:
    """Refuses a stack that the scenario does not have, which a change of it would add."""
    first, _, rest = key.partition(".")
    if first != "stacks" or not rest:
        return
    labels = list(tree["stacks"])
    label = rest[1:].partition(rest[0])[0] if rest[0] in "\"'" else rest.partition(".")[0]
    if label not in labels:
        raise ScenarioError(
            f"--set {key}={value}: the scenario has no such stack; expected one of {', '.join(labels)}"
        )


T = TypeVar("T")
KEPT: dict[Hashable, tuple[Any, Variation]] = {}
"""What `once` has made."""
CURRENT: contextvars.ContextVar[Variation | None] = contextvars.ContextVar("variation", default=None)


@contextlib.contextmanager
def applied(variation: Variation | None) -> Iterator[None]:
    """Applies a variation to all that this thread hands to the simulator meanwhile; None: none at all."""
    current = CURRENT.set(variation)
    before = BEFORE_RUNS.set(variation.take if variation else None)
    try:
        yield
    finally:
        BEFORE_RUNS.reset(before)
        CURRENT.reset(current)


def seed(given: int) -> int:
    """The seed to use in place of `given` by code that draws numbers without a scenario."""
    current = CURRENT.get()
    return current.seed(given) if current else given


def once(key: Hashable, make: Callable[[], T]) -> T:
    """What `make` returns, made once for each variation: code that is run again, or for another item, need
    not simulate the same again. The variation counts its scenarios either way.
    """
    current = CURRENT.get()
    whole = (key, current.shift, current.overrides) if current else (key, 0, ())
    if whole not in KEPT:
        own = current.fresh() if current else Variation()
        with applied(own):
            KEPT[whole] = make(), own
    value, own = KEPT[whole]
    if current:
        current.include(own)
    return value  # type: ignore[no-any-return]
