"""What a sweep varies: keys of a scenario with their values, given as lists and ranges."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock import _core
from ackclock._core import InputError
from ackclock.scenario.tree import inline, plain

MOST_VALUES = 100_000
"""Most values of an axis."""
DIGITS = 6
"""Significant digits of the values of a range, which are the same on every machine."""
PER_DECADE, STEPS, WHOLE = 10, 10, 100
"""Without a number of points a range has so many for each decade, or so many steps within one; fewer whole
numbers than this are all taken.
"""
UNITS = {"time": "s", "rate": "bit/s", "size": "B"}
KEYS = ("key", "keys", "values", "range", "points", "spacing")
RANGE = re.compile(
    r"\s*(?P<low>.+?)\s*\.\.\s*(?P<high>.+?)\s*(?::\s*(?P<points>\d{1,6})\s*(?P<log>log)?\s*)?"
)
NUMBER = re.compile(
    r"\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(?P<unit>[A-Za-z%][\w/%]*)?\s*", re.IGNORECASE
)


@dataclass(frozen=True)
class Value:
    """One value of an axis."""

    text: str
    """Its text in a scenario."""
    shown: Any
    """Its value in the column: a number in the column's unit, or text."""


@dataclass(frozen=True)
class Axis:
    """Values for one key of a scenario, or the same values for several keys at once.

        Axis.of("path.rtt", ["10ms", "30ms", "100ms"])
        Axis.of("path.link.faults.0.p", "0.001..0.1:7log")
        Axis.of("mss", {"key": "stacks.tcp.mss", "values": ["536B", "1460B"]})
        stacks = {"reno": "reno", "no backoff": ac.Stack("sack", backoff="none")}
        Axis.of("stack", {"key": "stacks.tcp", "values": stacks})

    The second has seven values, spaced logarithmically.
    """

    name: str
    """The name of its column."""
    keys: tuple[str, ...]
    values: tuple[Value, ...]
    unit: str = ""
    log: bool = False
    """Whether it is a logarithmic range."""

    @staticmethod
    def of(name: str, given: Any, *, twice: bool = False) -> Axis:
        """Reads an axis: a list of values, a range such as `10ms..300ms:7log`, or a table with `key` (or
        `keys`) and `values` or `range`.

        twice: whether a value may come more than once, as it may in axes that go together.
        """
        if isinstance(given, Axis):
            return given
        if not isinstance(given, Mapping):
            return _axis(name, (name,), given, twice)
        unknown = [k for k in given if k not in KEYS]
        if unknown:
            raise InputError(f"axis `{name}`: `{unknown[0]}` is not a known key{near(unknown[0], KEYS)}")
        if "key" in given and "keys" in given:
            raise InputError(f"axis `{name}` has both `key` and `keys`; give either")
        keys = given.get("keys", [given.get("key", name)])
        if (
            not isinstance(keys, Sequence)
            or isinstance(keys, str)
            or not keys
            or not all(isinstance(k, str) for k in keys)
        ):
            raise InputError(
                f"axis `{name}` has the keys `{keys}`; give a list of dotted keys such as "
                '["path.link.delay", "path.back.delay"]'
            )
        if ("values" in given) == ("range" in given):
            raise InputError(
                f"axis `{name}` needs either `values`, a list, or `range`, such as `10ms..300ms`"
            )
        if "values" in given:
            if "points" in given or "spacing" in given:
                raise InputError(
                    f"axis `{name}` has a list of values, where `points` and `spacing` mean nothing; "
                    "leave them out, or give a `range`"
                )
            return _axis(name, tuple(keys), given["values"], twice)
        return _axis(name, tuple(keys), _range_text(name, given), twice)


def _range_text(name: str, given: Mapping[str, Any]) -> str:
    """A range from a table as text: `range = "a..b"` or `["a", "b"]`, `points`, `spacing`."""
    span, points, spacing = given["range"], given.get("points"), given.get("spacing", "linear")
    if isinstance(span, Sequence) and not isinstance(span, str):
        if len(span) != 2:
            raise InputError(f"axis `{name}` has a range of {len(span)} values; give its two ends")
        span = f"{span[0]}..{span[1]}"
    if spacing not in ("linear", "log"):
        raise InputError(f"axis `{name}` has the spacing `{spacing}`; expected linear or log")
    if points is None:
        if "spacing" in given:
            raise InputError(f"axis `{name}` has a spacing but no number of `points`; give one")
        return str(span)
    if isinstance(points, bool) or not isinstance(points, int) or points < 1:
        raise InputError(f"axis `{name}` has `{points}` points; give a whole number of at least 1")
    return f"{span}:{points}{'log' if spacing == 'log' else ''}"


def _axis(name: str, keys: tuple[str, ...], given: Any, twice: bool) -> Axis:
    if isinstance(given, str):
        return _of_range(name, keys, given)
    if isinstance(given, Mapping):
        values = [Value(written(v), str(label)) for label, v in given.items()]
        unit = ""
    elif isinstance(given, Sequence | np.ndarray):
        values, unit = _of_list(list(given))
    else:
        raise InputError(
            f"axis `{name}` is `{given}`; give a list of values, or a range such as `10ms..300ms:7log`"
        )
    _bounded(name, len(values))
    seen: set[Any] = set()
    for v in values:
        if v.shown in seen and not twice:
            raise InputError(f"axis `{name}` has `{v.text}` twice, which would give the same runs twice")
        seen.add(v.shown)
    return Axis(name, keys, tuple(values), unit)


def _bounded(name: str, count: int) -> None:
    if not 1 <= count <= MOST_VALUES:
        raise InputError(f"axis `{name}` has {count} values; expected 1 to {MOST_VALUES}")


def written(value: Any) -> str:
    """A value as `Scenario.but` takes it: text as it is, numbers and words as TOML has them, lists and tables
    inline.
    """
    value = plain(value.item() if isinstance(value, np.generic) else value)
    return value if isinstance(value, str) else inline(value)


def _of_list(given: list[Any]) -> tuple[list[Value], str]:
    """Values, and the unit of their column: numbers where all are quantities of one unit, else text."""
    texts = [written(v) for v in given]
    if all(isinstance(v, bool) for v in given):
        return [Value(t, bool(v)) for t, v in zip(texts, given, strict=True)], ""
    found = [quantity(t) for t in texts]
    units = {q[1] for q in found if q}
    if not all(found) or len(units) != 1 or any(isinstance(v, bool) for v in given):
        return [Value(t, t) for t in texts], ""
    (unit,) = units
    numbers = [q[0] for q in found if q]
    whole = unit == "B" or (unit == "" and all(re.fullmatch(r"[-+]?\d+", t) for t in texts))
    return [Value(t, int(x) if whole else float(x)) for t, x in zip(texts, numbers, strict=True)], unit


def quantity(text: str) -> tuple[float, str] | None:
    """A number in its base unit, and that unit: `10ms` is 0.01 s, `1%` is 0.01. None for what is no
    number.
    """
    found = NUMBER.fullmatch(text)
    if not found:
        return None
    number, unit = float(found["number"]), found["unit"] or ""
    if not math.isfinite(number):
        return None
    if unit in ("", "%"):
        return (number / 100 if unit else number), ""
    for kind, base in UNITS.items():
        try:
            return _core.quantity(kind, text), base
        except InputError:
            continue
    return number, unit


def _of_range(name: str, keys: tuple[str, ...], text: str) -> Axis:
    found = RANGE.fullmatch(text)
    if not found:
        raise InputError(
            f"axis `{name}` is `{text}`; give a list of values, or a range such as `10ms..300ms:7log`"
        )
    ends = []
    for end in (found["low"], found["high"]):
        q = quantity(end)
        if q is None:
            raise InputError(
                f"axis `{name}` has the range `{text}`, where `{end}` is not a number with or without a unit"
            )
        ends.append(q)
    (low, unit), (high, other) = ends
    if unit != other:
        raise InputError(
            f"axis `{name}` has the range `{text}`, whose ends have different units ({unit or 'none'} "
            f"and {other or 'none'})"
        )
    whole = unit in ("B", "bit/s", "packets", "segs") or (
        not unit and all(re.fullmatch(r"[-+]?\d+", found[e]) for e in ("low", "high"))
    )
    points, log = int(found["points"]) if found["points"] else None, bool(found["log"])
    if log and min(low, high) <= 0:
        raise InputError(f"axis `{name}` has the range `{text}`; a logarithmic one needs ends above zero")
    if points is None:
        points, log = _default_points(low, high, whole and not unit)
    _bounded(name, points)
    if not unit and whole and abs(high - low) < points - 1:
        whole = False  # `0..1:5` can only mean real numbers
    numbers = list(
        dict.fromkeys(
            _rounded(x, unit, whole)
            for x in (np.geomspace if log else np.linspace)(low, high, points).tolist()
        )
    )
    return Axis(name, keys, tuple(Value(_text(x, unit), x) for x in numbers), unit, log)


def _default_points(low: float, high: float, counts: bool) -> tuple[int, bool]:
    """The default number of points of a range, and whether they are spaced logarithmically, as in `ackclock
    model`.
    """
    if counts and abs(high - low) < WHOLE:
        return int(abs(high - low)) + 1, False
    decades = abs(math.log10(high) - math.log10(low)) if min(low, high) > 0 else 0.0
    return (math.ceil(PER_DECADE * decades - 1e-9) + 1, True) if decades >= 1 else (STEPS + 1, False)


def _rounded(x: float, unit: str, whole: bool) -> float | int:
    x = float(f"{x:.{DIGITS}g}")
    if unit == "s":
        return round(x * 1e9) / 1e9
    if unit == "bit/s":
        return float(round(x))
    return round(x) if whole else x


def _text(x: float | int, unit: str) -> str:
    """A number of a range as text for a scenario."""
    if unit == "s":
        return f"{round(x * 1e9)}ns"
    return f"{round(x)}{unit}" if unit == "bit/s" else f"{x!r}{unit}"


def near(met: str, names: Sequence[str]) -> str:
    """The end of the error for an unknown name."""
    close = difflib.get_close_matches(met, names, 1)
    return (
        f" (did you mean `{close[0]}`?); expected one of {', '.join(names)}"
        if close
        else f"; expected one of {', '.join(names)}"
    )


def shown(value: Any, unit: str) -> str:
    """An axis' value with its unit."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if unit == "s" and value < 1:
        return f"{value * 1e3:.6g} ms"
    if unit == "bit/s" and value >= 1e3:
        scale, word = next(
            (s, w) for s, w in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")) if value >= s
        )
        return f"{value / scale:.6g} {word}"
    return f"{value:.6g} {unit}" if unit else f"{value:.6g}"
