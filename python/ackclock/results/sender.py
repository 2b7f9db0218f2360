"""The sender of a captured connection."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock._core import InputError

# A logarithm: the likelihood of the first stack is 20 times that of one that is so far behind.
CLEAR = 3.0
# Per round trip, in logarithms: a stack that is further off does not explain what was sent.
FITS = -1.5


@dataclass(frozen=True)
class Sender:
    """Which stack sent what a capture shows."""

    report: dict[str, Any]

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """The stacks that were tried, the likeliest first."""
        return self.report["candidates"]

    @property
    def stack(self) -> str | None:
        """The stack that fits; None if none does, or another window does as well."""
        first = self.candidates[0]
        others = [c for c in self.candidates if c["window"] != first["window"]]
        near = any(c["behind"] < CLEAR for c in others)
        return None if near or first["fit"] < FITS else first["stack"]


def name_sender(
    path: str | Path, flow: str | None = None, stacks: str | Sequence[str] | None = None
) -> Sender:
    """Names the sender of a connection that was captured at its end: the stack, of those of ackclock, that
    would have sent the same when given the same acks.

    `flow` chooses the connection, as in `read_capture`; the one with the most data by default, in the
    direction with more of it. `stacks` are the names of presets with modifiers that are tried
    instead of the usual ones.
    """
    chosen = stacks if stacks is None else [stacks] if isinstance(stacks, str) else list(stacks)
    if chosen == []:
        raise InputError("`stacks` is empty; expected a name such as `linux`")
    ends = _ends(Path(path), flow) if flow else None
    return Sender(json.loads(_core.name_sender(Path(path), ends, chosen)))


def _ends(path: Path, flow: str) -> tuple[str, str]:
    """Sender and receiver of the most data of the connections that are selected."""
    found = json.loads(_core.read_capture(path, flow).json)
    directions = [
        (sent["unique_bytes"], *ends)
        for c in found["connections"]
        for sent, ends in zip(
            c["directions"], ((c["client"], c["server"]), (c["server"], c["client"])), strict=True
        )
    ]
    if not directions:
        raise InputError(f"`{flow}` chooses none of the connections of {path}; `ackclock capture` lists them")
    _, sender, receiver = max(directions, key=lambda d: d[0])
    return sender, receiver
