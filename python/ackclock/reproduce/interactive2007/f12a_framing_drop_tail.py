from __future__ import annotations

import pyarrow as pa

from ackclock.reproduce.interactive2007 import framing, testbed
from ackclock.reproduce.interactive2007.testbed import DROP_TAIL_BYTES, DROP_TAIL_PACKETS
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, item

SLOWER = 1.10
"""Times that TCP-SF takes longer than TCP at least (I-F12a)."""


def judged(found: dict[str, list[framing.Point]]) -> list[Check]:
    """Whether TCP-SF is slower, and more so where the queue counts packets."""
    gaps = {kind: framing.mean_ratio(points) for kind, points in found.items()}
    return [
        at_least(
            f"{DROP_TAIL_BYTES}: TCP-SF over TCP, mean over the losses compared",
            gaps[DROP_TAIL_BYTES],
            SLOWER,
            "at least",
        ),
        at_least(
            f"{DROP_TAIL_PACKETS}: the same, at least as in bytes",
            gaps[DROP_TAIL_PACKETS],
            gaps[DROP_TAIL_BYTES],
            "that in bytes",
        ),
    ]


@item(
    "I-F12a",
    kind="SIM",
    title="TCP Smart Framing against TCP, drop-tail",
    choices={
        **framing.CHOICES,
        "queue in packets": f"{testbed.BUFFER // (testbed.PAYLOAD + testbed.HEADERS)} packets, which fill "
        "the same 40 kB; the paper does not show it",
    },
    points_at=["stack sack+smart-framing", "formula break-even-loss"],
    tests=["tests/test_reproduce_interactive2007_framing.py::test_points_outside_the_range_are_not_compared"],
)
def reproduce(setting: Setting) -> Outcome:
    """Response times of both TCPs by loss, with a queue in bytes and one in packets."""
    kinds = [DROP_TAIL_BYTES, DROP_TAIL_PACKETS]
    found = framing.measure(kinds, setting, "I-F12a")
    rows = [row for kind, points in found.items() for p in points for row in p.rows(kind)]
    figure = framing.picture(found, "Four small packets in place of one, drop-tail")
    notes = framing.notes(found) + framing.beside(kinds, setting, "I-F12a")
    return Outcome(judged(found), {"response": pa.Table.from_pylist(rows)}, {"response": figure}, notes)
