"""What a criterion is: scenes, a number in each of them, and a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ackclock.passport.measure import Measure
from ackclock.passport.scene import Scene
from ackclock.quantities import seconds

OK, HARMFUL, NOTE = "ok", "harmful", "note"
FORMATS: dict[str, Callable[[float], str]] = {
    "share": lambda x: "< 0.1 %" if 0 < x < 0.001 else f"{100 * x:.3g} %",
    "time": seconds,
    "index": "{:.2f}".format,
    "round trips": "{:.2g} RTT".format,
    "packets": lambda x: (
        f"{x:.2g} pkt" if x < 99.5 else f"{x:.0f} pkt" if x < 9999.5 else f"{x / 1000:.0f}k pkt"
    ),
}
"""How numbers are written, by their unit."""

THIRD_MORE = 3 / 4
"""The usual margin: a third more than the standards do to others, which is more than chance."""


UNDERUSES = "It leaves more of the link unused than the standards do."
"""What it means to be outside the bound of a link's use."""


@dataclass(frozen=True)
class Bound:
    """How far a number may go. RFC 9743 sets no thresholds (section 5): the standards set them, Reno and
    CUBIC in the place of the window under test (5.2), and `margin` is for chance.
    """

    more: bool
    """Whether more is better."""
    margin: float
    """The number may be that of the worse of the two standards times this."""
    enough: float | None = None
    """What satisfies anyhow, whatever the standards have."""
    aim: float | None = None
    """What a window should attain, even where the standards do not."""

    def limit(self, standards: Sequence[float]) -> float:
        """The last number that is within the bound, where the standards have these."""
        worst = min(standards) if self.more else max(standards)
        allowed = [worst * self.margin] + ([] if self.enough is None else [self.enough])
        return min(allowed) if self.more else max(allowed)

    def limits(self, seeds: Mapping[str, np.ndarray], means: Mapping[str, float]) -> np.ndarray:
        """The bound for each seed, by the standard that sets it on the whole."""
        chosen = (min if self.more else max)(means, key=lambda name: means[name])
        if self.enough is not None and self.limit(list(means.values())) == self.enough:
            return np.full(len(seeds[chosen]), self.enough)
        return seeds[chosen] * self.margin

    def keeps(self, value: float, limit: float) -> bool:
        """Whether the number is within the limit."""
        return value >= limit if self.more else value <= limit

    def room(self, value: float, limit: float) -> float:
        """How far within the limit a number is: 1 for on it, less for outside."""
        inner, outer = (value, limit) if self.more else (limit, value)
        return inner / outer if outer > 0 else (1.0 if inner <= 0 else float("inf"))

    def text(self, limit: float, unit: str) -> str:
        """As it is printed."""
        return f"{'>=' if self.more else '<='} {FORMATS[unit](limit)}"


def at_least(margin: float, **more: float) -> Bound:
    """A bound where more is better."""
    return Bound(True, margin, **more)


def at_most(margin: float, **more: float) -> Bound:
    """A bound where less is better."""
    return Bound(False, margin, **more)


@dataclass(frozen=True)
class Criterion:
    """One criterion, as the table declares it."""

    id: str
    title: str
    """What is measured, in at most 40 characters."""
    section: str
    """Of RFC 9743."""
    about: str
    """The scenes and the number, in a sentence."""
    scenes: tuple[Scene, ...]
    measure: Measure
    unit: str
    bound: Bound
    outside: str
    """What it means to be outside the bound, in a sentence."""
    harms: bool
    """Whether others, or the network, suffer then; otherwise only the flow itself."""
    source: str = ""
    """Where the criterion has another source as well."""
    missed: str = ""
    """What it means to be within the bound and yet to miss its aim."""

    def verdict(self, value: float, limit: float) -> str:
        """The verdict on a number."""
        if not self.bound.keeps(value, limit):
            return HARMFUL if self.harms else NOTE
        aim = self.bound.aim
        return OK if aim is None or self.bound.keeps(value, aim) else NOTE

    def shown(self, value: float) -> str:
        """A number with its unit."""
        return FORMATS[self.unit](value)
