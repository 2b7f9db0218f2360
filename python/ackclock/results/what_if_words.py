"""What the columns of a what-if are called and mean, in the terminal and on pages."""

from __future__ import annotations

from collections.abc import Collection

HEADINGS = {
    "rounds": "streak",
    "waited_least": "least",
    "waited_most": "most",
    "rerun_least": "if repeated, at least",
    "rerun_most": "if repeated, at most",
}
"""Headings of columns that are not called by their names."""
MEANINGS = {
    "early": "early: timeouts just before an ack that repaired the loss anyway.",
    "streak": "streak: the most timeouts one after another without an ack.",
    "waited": "waited: the best estimate of the time spent waiting for timeouts.",
    "least": "least, most: the bounds of that, since a capture does not show when a path that lost "
    "everything worked again.",
    "if repeated": "if repeated: the range of that in 19 of 20 repetitions of the transfer, in which other "
    "packets are lost at the same rate, if losses are independent.",
}
"""Sentences on what headings mean, by the beginning of a heading."""


def meanings(headings: Collection[str]) -> list[str]:
    """Sentences for those of these headings that need one."""
    return [said for name, said in MEANINGS.items() if any(h.startswith(name) for h in headings)]
