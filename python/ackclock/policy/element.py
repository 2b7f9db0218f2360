"""Elements of links: shapers, policers, schedules, packet-delivery traces, jitter."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ackclock._core import PolicyError
from ackclock.policy.declared import Declaration, Policy, make_class, shown

MORE = {
    "schedule": {
        "points": "a list of tables with `at` and any of `rate`, `delay` and `loss`",
        "file": "in its place a CSV file with these columns",
    },
    "mahimahi": {
        "file": "the trace: a number of milliseconds on each line",
        "times": "in its place the numbers themselves",
    },
    "jitter": {
        "file": "a distribution: a delay in milliseconds and the probability of delays up to it on each line",
        "points": "in its place a list of such pairs",
    },
}
"""The keys beside the declared parameters: lists, and files that a scenario reads."""


class Element(Policy):
    """An element of a link, with the keys that were given."""

    def __init__(self, **given: Any) -> None:
        more = {name: given.pop(name) for name in MORE.get(self.declaration.name, {}) if name in given}
        for name, value in more.items():
            wanted = "text" if name == "file" else "a list"
            if isinstance(value, Mapping) or isinstance(value, str) != (name == "file"):
                raise PolicyError(
                    f"`{self.declaration.name}`: `{name}` is {shown(value)}, where {wanted} belongs"
                )
        super().__init__(**given)
        self.given.update({name: list(value) if name != "file" else value for name, value in more.items()})

    def to_scenario(self) -> Any:
        """The element's table in a scenario file."""
        return dict(self.given)

    def __hash__(self) -> int:
        return hash((self.kind, self.name, repr(self.given)))

    __eq__ = Policy.__eq__


def make_element(d: Declaration) -> type[Policy]:
    """The class of one element, with its keys in its signature and its documentation."""
    cls = make_class(d, Element)
    more = MORE.get(d.name, {})
    own = list(inspect.signature(cls).parameters.values())
    added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in more]
    cls.__signature__ = inspect.Signature(own + added)  # type: ignore[attr-defined]
    cls.__doc__ = "\n".join([cls.__doc__ or "", *(f"    {name}: {about}" for name, about in more.items())])
    return cls
