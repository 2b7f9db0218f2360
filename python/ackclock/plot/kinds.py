"""How a segment looks by why it was sent: the same in every figure, every world and the HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.results.trace import Wait


@dataclass(frozen=True)
class Look:
    """A colour, a marker of matplotlib, and the words of the legend."""

    colour: str
    marker: str
    words: str


NEW = "#0072B2"
ACKED = "#777777"
EDGE = "#E69F00"
SACK = "#009E73"
WAIT = "#D55E00"

KINDS = {
    "timeout": Look("#D55E00", "X", "timeout"),
    "timeout-retransmit": Look("#D55E00", "X", "timeout"),
    "after-timeout": Look("#E69F00", "x", "after a timeout"),
    "fast-retransmit": Look("#CC79A7", "^", "fast retransmit"),
    "sack-retransmit": Look("#CC79A7", "s", "by SACK"),
    "fack-retransmit": Look("#CC79A7", "D", "by FACK"),
    "rack-retransmit": Look("#CC79A7", "v", "by RACK"),
    "tail-loss-probe": Look("#000000", "P", "tail loss probe"),
    "copy": Look("#56B4E9", "s", "copy"),
    "syn": Look("#000000", "*", "SYN retransmitted"),
    "zero-window-probe": Look("#56B4E9", "d", "window probe"),
    "window-probe": Look("#56B4E9", "d", "window probe"),
    "keepalive": Look("#56B4E9", "h", "keepalive"),
    "unknown": Look("#777777", "x", "unexplained"),
}
OTHER = Look("#D55E00", "x", "retransmitted")


def look(kind: str) -> Look:
    """The look of a kind, or that of any retransmission if the kind is unknown."""
    return KINDS.get(kind, OTHER)


def waits(expired: Sequence[Wait]) -> str:
    """The words of a legend for waits of timers that expired."""
    silences = any(w.silence for w in expired)
    return f"{'timeouts inferred from silences' if silences else 'waiting for a timer'} ({len(expired):,})"
