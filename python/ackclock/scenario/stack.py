"""The TCP stack of each end of a connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock import _core
from ackclock._core import PolicyError
from ackclock.policy import Policy
from ackclock.policy.declared import scalar, shown
from ackclock.scenario.tree import Tree, plain


class Stack:
    """A TCP stack by its parts: `Stack("reno", backoff="none")`,
    `Stack(recovery="sack", timer=ac.Rfc6298(min_rto="1s"))`.

    preset: a named one to begin with, `sack` by default; it may be composed, as in `sack+star(3)`. given: one
    policy for each kind of rule (estimator, timer, backoff, recovery, undo, window, framing, ack), as an
    object or by name, and options of the connection such as `mss="536B"`. `timer` takes an estimator as well,
    which is often called the timer. `kernel`, such as `{"cc": "cubic"}`, is the kernel's TCP that the testbed
    runs in its place; without a preset the rest is then its twin.
    """

    def __init__(self, preset: str | None = None, **given: Any) -> None:
        self.preset = preset
        self.given: dict[str, Any] = {}
        for key, value in given.items():
            self.given[_slot(key, value)] = value
        _check(preset, self.given)

    def but(self, preset: str | None = None, **changes: Any) -> Stack:
        """The same stack with some of its parts changed."""
        changed = {_slot(key, value): value for key, value in changes.items()}
        return Stack(preset or self.preset, **{**self.given, **changed})

    def to_scenario(self) -> Tree | str:
        """The stack's table in a scenario file."""
        given = {key: plain(value) for key, value in self.given.items() if value is not None}
        return {"preset": self.preset, **given} if self.preset else given

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stack) and (self.preset, self.given) == (other.preset, other.given)

    def __hash__(self) -> int:
        return hash((self.preset, tuple(self.given)))

    def __repr__(self) -> str:
        parts = [repr(self.preset)] if self.preset else []
        return f"Stack({', '.join(parts + [f'{k}={v!r}' for k, v in self.given.items()])})"


def _check(preset: Any, given: Mapping[str, Any]) -> None:
    """Refuses parts that no scenario takes as a stack."""
    if preset is not None and not isinstance(preset, str):
        raise PolicyError(f"a stack's preset is {shown(preset)}, which is not a name such as `sack+star(3)`")
    settings: list[tuple[str, str]] = []
    for key, value in given.items():
        if key == "kernel":
            if not isinstance(value, Mapping):
                raise PolicyError(
                    f'`kernel` of a stack is {shown(value)}: expected a table such as `{{"cc": "cubic"}}`'
                )
            continue
        table = value.to_scenario() if isinstance(value, Policy) else value
        parts = dict(table) if isinstance(table, Mapping) else {"kind": table}
        for name, part in parts.items():
            if part is None:
                continue
            full = key if name == "kind" else f"{key}.{name}"
            word = scalar(part)
            if word is None:
                raise PolicyError(
                    f"`{full}` of a stack is {shown(part)}, where a policy, its name or a single value "
                    "belongs"
                )
            settings.append((full, word))
    # Choosing a policy resets its parameters, so choices come first.
    _core.check_stack(preset, sorted(settings, key=lambda s: "." in s[0]))


def _slot(key: str, value: Any) -> str:
    return value.kind if isinstance(value, Policy) and key == "timer" and value.kind == "estimator" else key
