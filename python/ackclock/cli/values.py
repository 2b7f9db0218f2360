"""Parses the inputs of a formula: values, lists, repetitions and ranges."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from ackclock import _core
from ackclock._core import InputError
from ackclock.models import Input

PER_DECADE, STEPS, MOST_COUNTS, FINE = 10, 10, 100, 200


@dataclass(frozen=True)
class Values:
    """The values of one input."""

    array: np.ndarray
    ends: tuple[float, float] | None = None
    """The ends, if it is one range."""
    log: bool = False
    """Whether the range is spaced logarithmically."""

    def fine(self, kind: str) -> np.ndarray:
        """The same range in as many steps as a curve needs; the values themselves where they are a list."""
        return _spaced(kind, *self.ends, FINE, self.log) if self.ends else np.unique(self.array)


def parse(name: str, i: Input, text: str) -> Values:
    """Reads `1s`, `1s,2s`, `1s*100`, `0.01..0.5`, `0.01..0.5:10` and `0.01..0.5:10log`, and lists of
    these.
    """
    parts = [_part(name, i, part.strip()) for part in text.split(",")]
    if len(parts) == 1:
        return parts[0]
    return Values(np.concatenate([p.array for p in parts]))


def one(name: str, i: Input, text: str) -> float:
    """Reads one value."""
    try:
        kind = "time" if i.kind == "span" else i.kind
        value = _core.quantity(kind, text) if kind in ("time", "ratio", "size", "rate") else float(text)
    except InputError as e:
        raise InputError(f"`{name}`: {e}") from None
    except ValueError:
        raise InputError(f"`{name}`: `{text}` is not a number") from None
    wanted = _wanted(i, value)
    if wanted:
        raise InputError(f"`{name}` is `{text.strip()}`, which is not {wanted}")
    return value


def _part(name: str, i: Input, text: str) -> Values:
    repeat = re.fullmatch(r"(.+)\*(\d{1,6})", text)
    span = re.fullmatch(r"(.+)\.\.(.+?)(?::(\d{1,6})(log)?)?", text)
    if repeat:
        values = Values(np.full(int(repeat[2]), one(name, i, repeat[1])))
    elif span:
        values = _range(name, i, text, one(name, i, span[1]), one(name, i, span[2]), span[3], bool(span[4]))
    else:
        values = Values(np.array([one(name, i, text)]))
    if not values.array.size:
        raise InputError(f"`{name}` has no values; give at least one")
    return values


def _range(name: str, i: Input, text: str, low: float, high: float, steps: str | None, log: bool) -> Values:
    if not math.isfinite(low) or not math.isfinite(high):
        raise InputError(f"`{name}` has the range `{text}`; a range needs finite ends")
    if steps:
        if log and min(low, high) <= 0:
            raise InputError(f"`{name}` has the range `{text}`; a logarithmic one needs values above zero")
        return Values(_spaced(i.kind, low, high, int(steps), log), (low, high), log)
    decades = abs(math.log10(high) - math.log10(low)) if min(low, high) > 0 else 0.0
    log = decades >= 1.0
    count = math.ceil(PER_DECADE * decades - 1e-9) + 1 if log else STEPS + 1
    if i.kind == "count" and abs(high - low) < MOST_COUNTS:
        count, log = int(abs(high - low)) + 1, False
    return Values(_spaced(i.kind, low, high, count, log), (low, high), log)


def _spaced(kind: str, low: float, high: float, count: int, log: bool) -> np.ndarray:
    values = (np.geomspace if log else np.linspace)(low, high, count)
    if kind != "count":
        return values
    whole = np.unique(np.rint(values))
    return whole if low <= high else whole[::-1]


def _wanted(i: Input, value: float) -> str | None:
    """What the value should be; None if it is valid."""
    if i.kind == "ratio" and not 0 <= value <= 1:
        return "between 0 and 1"
    if i.kind == "count" and not (value >= 1 and value == int(min(value, 2**53))):
        return "a whole number of at least 1"
    if i.kind == "limit":
        return None if value > 0 else "above zero, or `inf`"
    if i.kind in ("time", "size", "rate", "packets", "packets/s") and not 0 < value < float("inf"):
        return "above zero"
    return None if np.isfinite(value) else "a finite number"
