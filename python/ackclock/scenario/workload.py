"""The workloads of a path: a class for each kind of workload and for each application, made from the
registry's declarations like those of policies.
"""

from __future__ import annotations

import difflib
import inspect
from typing import Any

from ackclock import _core
from ackclock._core import PolicyError, ScenarioError
from ackclock.policy.declared import (
    Declaration,
    Policy,
    bounds,
    check,
    declarations,
    make_class,
    python_name,
    scalar,
)
from ackclock.scenario.tree import Tree, plain

COMMON = {
    "name": "its name in the tables; its kind by default",
    "rtt": "round-trip times of its flows; the path's by default",
    "client": "node, or nodes, that open connections",
    "server": "node, or nodes, that they are opened to",
    "per_hop": "run it once over each link of a chain",
}
STACK = {"stack": "the stack of its flows in every run, in place of those under comparison"}
WEB = {
    **STACK,
    "sizes": "how large transfers are, such as `ac.sizes.Exponential(mean='10kB')`",
    "arrivals": "how they arrive, such as `ac.arrivals.OnOff(on='100ms')`",
}
LOG = {
    **STACK,
    "file": "the file of the log, comma-separated values",
    "transfers": 'a list of `[time, bytes]` in its place, such as `[["1.5s", 4000]]`',
}
RATE = {
    "control": "how fast they are sent, such as `ac.rate.Additive(alpha='50s')`",
}
FLOWS = {
    **STACK,
    "flows": "how many",
    "per_server": "flows to each node of `server`, from so many different nodes of `client`, in place of "
    "`flows`",
    "start": "when the first begins",
    "stagger": "time between consecutive starts",
    "spread": "random time, uniform up to this, added to each start",
    "peer": "what runs at the other end",
}


class Workload(Policy):
    """A workload by its kind, with the keys that were given."""

    def __init__(self, **given: Any) -> None:
        d = self.declaration
        named = {python_name(p.name): p.name for p in d.params}
        keys = {named.get(name, name): value for name, value in given.items()}
        # The application at the other end has its parameters here as well.
        peers = {
            p.name: other
            for other in declarations()
            if other.kind == d.kind == "application"
            for p in other.params
        }
        own = [*named.values(), *more(d)]
        for name in keys:
            if name not in own and name not in peers:
                near = difflib.get_close_matches(name, own, 1)
                hint = f" (did you mean `{near[0]}`?)" if near else ""
                raise ScenarioError(
                    f"`{name}` is not a key of the workload `{d.name}`{hint}; expected one of "
                    f"{', '.join(own)}"
                )
        try:
            check(d, keys)
            for name, value in keys.items():
                if name in named.values() or value is None:
                    continue
                if name in peers:
                    check(peers[name], {name: value})
                elif name in FLOWS and more(d).keys() >= FLOWS.keys() and (word := scalar(value)) is not None:
                    _core.check_value("flows", "", name, word)
        except PolicyError as e:
            # Keys of a workload are a scenario's, as its reader has it.
            raise ScenarioError(str(e)) from None
        self.given = keys

    def to_scenario(self) -> Tree:
        """The table `[[workload]]` of a scenario file."""
        return {
            "kind": self.name,
            **{key: plain(value) for key, value in self.given.items() if value is not None},
        }


def more(d: Declaration) -> dict[str, str]:
    """The keys beside its parameters."""
    return {
        **{"web": WEB, "log": LOG, "udp-rate": RATE}.get(d.name, FLOWS if d.kind == "application" else {}),
        **COMMON,
    }


def _extended(cls: type[Policy]) -> type[Policy]:
    """The class with the keys that are common to workloads of its kind in its signature and its
    documentation.
    """
    d = cls.declaration
    parameters = [
        inspect.Parameter(python_name(p.name), inspect.Parameter.KEYWORD_ONLY, default=p.default)
        for p in d.params
    ]
    known = {p.name for p in d.params}
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in more(d)
        if name not in known
    ]
    lines = [
        d.about,
        "",
        "Parameters:",
        *(f"    {p.name}: {p.about} ({bounds(p)}; default {p.default})" for p in d.params),
    ]
    lines += [f"    {name}: {about}" for name, about in more(d).items() if name not in known]
    cls.__doc__, cls.__signature__, cls.__module__ = "\n".join(lines), inspect.Signature(parameters), __name__  # type: ignore[attr-defined]
    return cls


WORKLOADS: dict[str, type[Policy]] = {}
"""The classes, by class name."""

for _d in declarations():
    if _d.kind in ("workload", "application"):
        _class = _extended(make_class(_d, Workload))
        WORKLOADS[_class.__name__] = _class
