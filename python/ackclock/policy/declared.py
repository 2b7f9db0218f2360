"""Classes made from the registry's declarations: a class for each policy, with its parameters as keywords."""

from __future__ import annotations

import inspect
import json
import keyword
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar

from ackclock import _core, ids
from ackclock._core import PolicyError


@dataclass(frozen=True)
class Param:
    """One parameter as its policy declares it."""

    name: str
    kind: str
    default: str
    words: tuple[str, ...]
    min: float
    max: float
    about: str


@dataclass(frozen=True)
class Declaration:
    """One policy as the registry declares it."""

    kind: str
    name: str
    about: str
    source: str
    params: tuple[Param, ...]


@cache
def _registry() -> dict[str, Any]:
    return json.loads(_core.declarations())


def _params(declared: list[dict[str, Any]]) -> tuple[Param, ...]:
    return tuple(Param(**{**p, "words": tuple(p["words"])}) for p in declared)


@cache
def declarations() -> tuple[Declaration, ...]:
    """Every policy of the registry, kind by kind, in the registry's order."""
    return tuple(Declaration(**{**d, "params": _params(d["params"])}) for d in _registry()["policies"])


@dataclass(frozen=True)
class PolicyKind:
    """A kind of policy."""

    name: str
    """Its name in scenario files."""
    title: str
    """What its policies decide, as a heading."""
    of_stacks: bool
    """Whether it is a part of a stack."""


@cache
def kinds() -> tuple[PolicyKind, ...]:
    """The kinds of policy, in the order in which they are listed."""
    return tuple(PolicyKind(**k) for k in _registry()["kinds"])


@cache
def options() -> tuple[Param, ...]:
    """The options of a connection that are no policies, such as its segment size."""
    return _params(_registry()["options"])


@dataclass(frozen=True)
class Preset:
    """A named stack."""

    name: str
    about: str
    source: str
    settings: tuple[tuple[str, str], ...]
    """How it differs from the standard policies and options: keys of a stack and their values."""


@dataclass(frozen=True)
class Modifier:
    """A change to a stack, written after a preset."""

    name: str
    usage: str
    about: str


@cache
def presets() -> tuple[Preset, ...]:
    """The named stacks."""
    return tuple(
        Preset(**{**p, "settings": tuple((key, value) for key, value in p["settings"])})
        for p in _registry()["presets"]
    )


@cache
def modifiers() -> tuple[Modifier, ...]:
    """The changes that may follow a preset's name."""
    return tuple(Modifier(**m) for m in _registry()["modifiers"])


class Policy:
    """A policy by name, with the parameters that were given; the others keep their defaults.

    A value that no scenario takes is refused here; the others are kept as they were given. Two policies with
    the same name and parameters are equal.
    """

    declaration: ClassVar[Declaration]

    def __init__(self, **given: Any) -> None:
        known = {python_name(p.name): p.name for p in self.declaration.params}
        for name in given:
            if name not in known:
                raise PolicyError(_unknown(self.declaration.name, name, list(known)))
        check(self.declaration, {known[name]: value for name, value in given.items()})
        self.given = {known[name]: text(value) for name, value in given.items()}

    @property
    def kind(self) -> str:
        """The kind of rule it is, such as `backoff`."""
        return self.declaration.kind

    @property
    def name(self) -> str:
        """The name that scenario files use."""
        return self.declaration.name

    def to_scenario(self) -> Any:
        """What a scenario file holds in its place: its name, or a table with its name and parameters."""
        return {"kind": self.name, **self.given} if self.given else self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and (self.declaration, self.given) == (
            other.declaration,
            other.given,
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.name, tuple(self.given.items())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.given.items())})"


def text(value: Any) -> Any:
    """A parameter's value as a scenario file writes it."""
    return "inf" if isinstance(value, float) and value == float("inf") else value


def check(d: Declaration, given: Mapping[str, Any]) -> None:
    """Refuses values that no scenario takes for these parameters. A parameter of a fault may be a list: a
    fault for each of its values.
    """
    for p in d.params:
        value = given.get(p.name)
        several = d.kind == "fault" and isinstance(value, list | tuple)
        for one in value if several and value is not None else [value]:
            if one is None:
                continue
            word = scalar(one)
            if word is None:
                raise PolicyError(
                    f"`{d.name}`: `{p.name}` is {shown(one)}, where a single value belongs such as "
                    f"`{p.default}`"
                )
            _core.check_value(d.kind, d.name, p.name, word)


def scalar(value: Any) -> str | None:
    """A single value as a scenario file writes it; None if it is not a single value."""
    if hasattr(value, "dtype") and hasattr(value, "item") and not getattr(value, "shape", ()):
        value = value.item()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f") if math.isfinite(value) else str(value)
    return str(value) if isinstance(value, int | str) else None


def shown(value: Any) -> str:
    """A value for a message, on one line and shortened."""
    found = " ".join(repr(value).split())
    return f"`{found if len(found) <= 60 else found[:57] + '...'}`"


def _unknown(policy: str, met: str, known: list[str]) -> str:
    have = f"expected one of {', '.join(known)}" if known else "it has none"
    return f"`{met}` is not a parameter of `{policy}`; {have}"


def python_name(name: str) -> str:
    """The name, with an underscore appended where it is a keyword of Python: `from_`."""
    return name + "_" if keyword.iskeyword(name) else name


def class_name(name: str) -> str:
    """`sub-exponential` as a class: `SubExponential`."""
    return "".join(part[:1].upper() + part[1:] for part in name.replace("_", "-").split("-"))


def make_class(d: Declaration, base: type[Policy] = Policy) -> type[Policy]:
    """The class of one declaration, with its signature and its documentation."""
    lines = [d.about, "", f"Source: {ids.without(d.source)}."] if d.source else [d.about]
    if d.params:
        lines += ["", "Parameters:"]
        lines += [f"    {p.name}: {p.about} ({bounds(p)}; default {p.default})" for p in d.params]
    parameters = [
        inspect.Parameter(python_name(p.name), inspect.Parameter.KEYWORD_ONLY, default=p.default)
        for p in d.params
    ]
    name = python_name(class_name(d.name))
    members = {
        "__doc__": "\n".join(lines),
        "__module__": f"ackclock.policy.{d.kind}",
        "__signature__": inspect.Signature(parameters),
        "declaration": d,
    }
    return type(name, (base,), members)


def bounds(p: Param) -> str:
    """The values a parameter takes, in words."""
    if p.kind == "flag":
        return "true or false"
    if p.kind == "choice":
        return "one of " + ", ".join(p.words)
    kind = {"count": "whole number", "ratio": "number", "queue": "packets or bytes"}.get(p.kind, p.kind)
    if p.kind == "queue":
        return kind
    return f"{kind}, {_bound(p, p.min)} to {_bound(p, p.max)}"


_UNITS = {
    "time": ((3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "rate": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")),
    "size": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
}


def _bound(p: Param, x: float) -> str:
    if p.kind == "count":
        return "inf" if x >= 2.0**63 else f"{x:.0f}"
    for scale, unit in _UNITS.get(p.kind, ()):
        n = x / scale
        if x and n >= 1 and abs(n - round(n)) < 1e-9 * n and n < 1e7:
            return f"{round(n)}{unit}"
    units = _UNITS.get(p.kind)
    if units and x == 0:
        return "0" + {"time": "s", "rate": "bit/s", "size": "B"}[p.kind]
    return f"{x:g}" + ({"time": "s", "rate": "bit/s", "size": "B"}[p.kind] if units else "")
