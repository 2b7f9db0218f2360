"""Declarations of formulas: inputs with their units, result, source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
"""Inputs and results of formulas: floats of any shape that broadcasts."""

FORMULAS: dict[str, Formula] = {}
"""Every formula, by the name that the command line uses."""


@dataclass(frozen=True)
class Input:
    """One input of a formula."""

    kind: str
    """`time` (seconds, above zero), `span` (zero too), `ratio`, `size` (bytes), `rate` (bit/s), `count`,
    `packets`, `limit` (packets, or infinite), `packets/s` or `number`."""
    about: str
    """What it means, in one line."""
    per_flow: bool = False
    """True when the last axis of the value runs over the flows, which the formula combines."""
    default: float | None = None
    """Its value when none is given; None where one must be."""


@dataclass(frozen=True)
class Formula:
    """A formula that the command line and the reference pages know."""

    id: str
    name: str
    about: str
    paper: str
    inputs: dict[str, Input]
    result: str
    unit: str
    over_flows: bool
    function: Callable[..., Any]
    domain: str
    """The condition under which it has a finite value, as the end of a sentence."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluates the formula."""
        return self.function(*args, **kwargs)


def formula(
    id: str,
    *,
    name: str,
    result: str,
    unit: str,
    over_flows: bool = False,
    domain: str = "its inputs must be positive, and a loss ratio below 1",
    **inputs: Input,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares the decorated function as the formula `id` of a paper's items, or of another source that `id`
    names.

    over_flows: one result for all flows, not one for each. domain: what inputs must be for a finite value.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        # The first paragraph: a sentence may take two lines.
        about = " ".join((function.__doc__ or "").strip().partition("\n\n")[0].split())
        paper = function.__module__.split(".")[-2]
        FORMULAS[name] = Formula(id, name, about, paper, inputs, result, unit, over_flows, function, domain)
        return function

    return declare


def floats(*values: Any) -> tuple[Array, ...]:
    """The values as arrays of floats."""
    return tuple(np.asarray(v, dtype=float) for v in values)


RTO = Input("time", "retransmission timeout of each flow", per_flow=True)
PACKETS = Input("packets", "length of each flow", per_flow=True)
CAPACITY = Input("packets/s", "capacity of the bottleneck")
LOSS = Input("ratio", "share of packets lost")
EXPONENT = Input("number", "backoff exponent: the timeout is 2^k RTO")
