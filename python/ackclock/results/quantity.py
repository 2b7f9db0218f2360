"""What the values of a distribution are, in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ackclock.quantities import seconds


@dataclass(frozen=True)
class Quantity:
    """The quantity of a distribution: the label of its axis, of its shares, and the format of a value."""

    label: str
    share: str
    nothing: str
    text: Callable[[float], str]
    limits: tuple[float, float] | None = None
    """The least range of a logarithmic axis."""


RESPONSE_TIME = Quantity(
    "response time (s)",
    "share of flows that took at least this long",
    "nothing finished",
    seconds,
    (0.01, 1000.0),
)
