"""Policies: a namespace for each kind (`policy.backoff.SubExponential`), all made from the declarations
beside the rules themselves.

A name that only one kind has is found here as well (`policy.SubExponential`), and in `ackclock` itself.
"""

from __future__ import annotations

from types import SimpleNamespace

from ackclock.policy.declared import (
    Declaration,
    Modifier,
    Param,
    Policy,
    Preset,
    declarations,
    make_class,
    modifiers,
    options,
    presets,
)
from ackclock.policy.element import make_element

KINDS: dict[str, SimpleNamespace] = {}
"""The classes of each kind, by class name."""

for _d in declarations():
    if _d.kind in ("workload", "application"):
        # What runs over a path has classes of its own, in ackclock.scenario.workload.
        continue
    _class = make_element(_d) if _d.kind == "element" else make_class(_d)
    setattr(KINDS.setdefault(_d.kind, SimpleNamespace()), _class.__name__, _class)


def find(name: str) -> type[Policy] | SimpleNamespace:
    """The class of that name where one kind alone has it, or the namespace of a kind; AttributeError
    otherwise.
    """
    if name in KINDS:
        return KINDS[name]
    homes = [kind for kind, classes in KINDS.items() if hasattr(classes, name)]
    if len(homes) == 1:
        return getattr(KINDS[homes[0]], name)
    if homes:
        raise AttributeError(
            f"{name} is the name of several kinds of policy: use " + " or ".join(f"{k}.{name}" for k in homes)
        )
    raise AttributeError(f"no policy is called {name}")


def exported() -> list[str]:
    """The names that `find` knows."""
    names = list(KINDS)
    for kind, classes in KINDS.items():
        names += [
            n
            for n in vars(classes)
            if sum(hasattr(other, n) for other in KINDS.values()) == 1 and n not in names
        ]
        del kind
    return names


def __getattr__(name: str) -> type[Policy] | SimpleNamespace:
    return find(name)


__all__ = [
    "KINDS",
    "Declaration",
    "Modifier",
    "Param",
    "Policy",
    "Preset",
    "declarations",
    "exported",
    "find",
    "modifiers",
    "options",
    "presets",
]
