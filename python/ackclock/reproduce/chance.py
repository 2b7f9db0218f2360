"""How an item's checks come out over several repetitions with other seeds: whether chance decides them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ackclock.reproduce.item import FALLS_SHORT, HOLDS, OPEN, Check, Item, Number, Outcome, Setting
from ackclock.results.confidence import LEVEL, half_width

ENOUGH = 10
"""Repetitions from which an interval is a verdict on chance: with fewer, its width is itself chance."""
HALF = 0.5
"""A check without a number must hold in more than this share of all repetitions."""


@dataclass(frozen=True)
class Judged:
    """A check over all repetitions."""

    check: Check
    """As the first repetition had it."""
    verdict: str
    got: str
    """The mean with its interval, or in how many repetitions it holds."""
    held: int
    of: int

    def row(self) -> dict[str, Any]:
        """What JSON holds of it."""
        return {
            "name": self.check.name,
            "expected": self.check.expected,
            "got": self.got,
            "verdict": self.verdict,
            "held": self.held,
            "repetitions": self.of,
        }


@dataclass
class Repeated:
    """An item run several times, each time with seeds of its own."""

    outcomes: list[Outcome] = field(default_factory=list)
    shifts: list[int] = field(default_factory=list)
    """What was added to the item's seeds in each repetition."""

    def judged(self) -> list[Judged]:
        """Its checks, each over all repetitions that have it."""
        if not self.outcomes:
            return []
        by_name = [_named(o.checks) for o in self.outcomes]
        return [judge([found[key] for found in by_name if key in found]) for key in by_name[0]]

    @property
    def verdict(self) -> str:
        """Holds where all checks hold; falls short where one does; open otherwise."""
        verdicts = {j.verdict for j in self.judged()}
        return FALLS_SHORT if FALLS_SHORT in verdicts else OPEN if OPEN in verdicts else HOLDS


def repeat(i: Item, settings: Sequence[Setting], first: int = 1) -> Repeated:
    """Runs an item once for each setting: the first time with its seeds from `first` on, and then with the
    seeds that follow those of the repetition before. An item that takes no seeds, or is skipped, is run once.
    """
    found, shift = Repeated(), first - 1
    for s in settings:
        s.variation.shift = shift
        found.outcomes.append(i.run(s))
        found.shifts.append(shift)
        if not s.variation.width or found.outcomes[-1].skipped:
            break
        shift += s.variation.width
    return found


def judge(checks: Sequence[Check]) -> Judged:
    """A check over repetitions: of a number, by the interval of its mean; otherwise by the share of those in
    which it holds. One that is the same in all is not a matter of chance.
    """
    first, held, of = checks[0], sum(c.holds for c in checks), len(checks)
    if len({(c.got, c.holds) for c in checks}) == 1:
        got = first.got if of == 1 else f"{first.got} in all {of}"
        return Judged(first, first.verdict, got, held, of)
    numbers = [c.number for c in checks if c.number is not None]
    values = np.array([n.value for n in numbers])
    if len(numbers) == of and np.isfinite(values).all():
        mean, width = float(values.mean()), half_width(values)
        least, most = numbers[0].least, numbers[0].most
        verdict = side(mean - width, mean + width, least, most)
        return Judged(first, verdict, f"{mean:.4g} +/- {width:.2g} ({held} of {of})", held, of)
    low, high = share(held, of)
    verdict = HOLDS if low > HALF else FALLS_SHORT if high < HALF else OPEN
    return Judged(
        first, verdict, f"holds in {held} of {of} ({100 * low:.0f} to {100 * high:.0f} %)", held, of
    )


def share(held: int, of: int) -> tuple[float, float]:
    """The exact interval of a share (Clopper and Pearson, Biometrika 26, 1934)."""
    from scipy.stats import binomtest

    found = binomtest(held, of).proportion_ci(LEVEL, method="exact")
    return float(found.low), float(found.high)


def over_seeds(
    name: str,
    expected: str,
    got: float,
    by_seed: Sequence[float] | np.ndarray,
    least: float = -np.inf,
    most: float = np.inf,
) -> Check:
    """A check of one number whose runs have several seeds. From `ENOUGH` seeds on the interval decides, and
    the check is open where that contains a limit; with fewer, the number itself does.

    by_seed: what each seed gave, from whose spread the interval around `got` follows.
    """
    v = np.asarray(by_seed, float)
    width = half_width(v) if v.size > 1 else 0.0
    around = width if v.size >= ENOUGH else 0.0
    verdict = side(got - around, got + around, least, most) if np.isfinite(got + around) else FALLS_SHORT
    shown = f"{got:.4g} +/- {width:.2g}" if v.size > 1 else f"{got:.4g}"
    return Check(name, expected, shown, verdict == HOLDS, Number(got, least, most), verdict == OPEN)


def side(low: float, high: float, least: float, most: float) -> str:
    """On which side of its limits an interval lies."""
    if least <= low and high <= most:
        return HOLDS
    return FALLS_SHORT if high < least or low > most else OPEN


def _named(checks: Sequence[Check]) -> dict[tuple[str, int], Check]:
    """Checks by name, and by number where a name is there twice."""
    found: dict[tuple[str, int], Check] = {}
    for c in checks:
        n = sum(name == c.name for name, _ in found)
        found[c.name, n] = c
    return found
