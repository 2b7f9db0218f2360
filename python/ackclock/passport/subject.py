"""What a passport is made for: a window by name, with its parameters, in a stack."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ackclock._core import InputError, PolicyError
from ackclock.policy import declarations, presets
from ackclock.scenario.stack import Stack
from ackclock.scenario.tree import Tree

BASE = "rack+prr"
"""The rest of the stack by default: RACK-TLP (RFC 8985), and proportional rate reduction (RFC 9937)."""
BUFFERS = {"rcv_buf": "8MiB", "snd_buf": "8MiB"}
"""Buffers larger than what any path here holds, queues included."""
STANDARDS = ("reno", "cubic")
"""The windows that a window is compared with: RFC 5681 and RFC 9438."""


@dataclass(frozen=True)
class Subject:
    """A window, or a whole stack, under test."""

    text: str
    """As it was given."""
    base: str
    """The preset that the rest of its stack, and that of the standards, comes from."""
    parts: Mapping[str, Any]
    """What its stack has in place of the preset's parts."""
    chosen: frozenset[str] = frozenset()
    """The kinds of policy and the options that were changed; scenes leave these as they are."""
    whole: bool = False
    """Whether it is the whole preset; the rest of the standards' stacks is then `BASE`."""

    @classmethod
    def parse(cls, text: str, stack: str | None = None, changes: Mapping[str, str] | None = None) -> Subject:
        """Reads `cubic`, `cubic(c=0.2)`, or the name of a preset such as `linux`. stack: the preset for the
        rest of the stack. changes: parts of the stack under test by dotted key, such as `window.c`.

        Raises InputError for what is no window, no preset or no value of theirs.
        """
        name, given = split(text)
        windows = [d.name for d in declarations() if d.kind == "window"]
        whole = name not in windows and _is_stack(text.strip())
        if not name and not whole:
            raise InputError(f"`{text}` is not a window such as `cubic` or `cubic(c=0.2)`")
        if whole:
            if stack is not None:
                raise InputError(
                    f"`{text}` is a whole stack, which leaves nothing for `--stack {stack}` to decide"
                )
            base, parts = text.strip(), {}
        else:
            base, parts = stack or BASE, {"window": {"kind": name, **_parameters(text, given)}}
        for key, value in (changes or {}).items():
            _set(parts, key, value)
        # One sentence for whatever no stack takes.
        try:
            Stack(base, **parts)
        except PolicyError as e:
            known = f"{e}, or a preset: {', '.join(p.name for p in presets())}"
            raise InputError(known if name not in windows and "known window" in str(e) else str(e)) from None
        chosen = frozenset(key.partition(".")[0] for key in changes or {})
        return cls(text.strip(), base, parts, chosen, whole)

    def stack(self, window: str | None = None, more: Mapping[str, Any] | None = None) -> Tree:
        """The stack in a scenario: under test, or with the window of a standard. more: further parts and
        options.
        """
        if window is None:
            return {"preset": self.base, **BUFFERS, **self.parts, **(more or {})}
        return {"preset": BASE if self.whole else self.base, **BUFFERS, "window": window, **(more or {})}


def split(text: str) -> tuple[str, str | None]:
    """A name, and what stands in brackets behind it; an empty name where it is neither."""
    found = re.fullmatch(r"([^()]+?)\s*(?:\(([^()]*)\))?", text.strip())
    return (found[1], found[2]) if found else ("", None)


def _is_stack(text: str) -> bool:
    try:
        Stack(text)
    except PolicyError:
        return False
    return True


def _parameters(text: str, given: str | None) -> dict[str, str]:
    parts = [part.partition("=") for part in (given or "").split(",") if part.strip()]
    for key, equals, value in parts:
        if not equals or not value.strip():
            raise InputError(f"`{text}`: `{key.strip()}` has no value; write it as in `cubic(c=0.2)`")
    return {key.strip(): value.strip() for key, _, value in parts}


def _set(parts: dict[str, Any], key: str, value: str) -> None:
    """Changes a part: a policy by its kind, a parameter of it, or an option."""
    kind, dot, parameter = key.partition(".")
    if not dot:
        parts[kind] = value
        return
    present = parts.get(kind, {})
    parts[kind] = {**(present if isinstance(present, Mapping) else {"kind": present}), parameter: value}
