from __future__ import annotations

import pyarrow as pa

from ackclock.reproduce.interactive2007 import framing
from ackclock.reproduce.interactive2007.testbed import RED, RED_BYTES
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, between, item

LITTLE = (0.85, 1.05)
"""Response time of TCP-SF over that of TCP: little improvement is at most 15 %, and means vary by 5 %
(I-F12b).
"""


def judged(found: dict[str, list[framing.Point]]) -> list[Check]:
    """Whether TCP-SF is hardly faster where RED spares small packets, and slower where it does not."""
    return [
        between(
            f"{RED_BYTES}: TCP-SF over TCP, mean over the losses compared",
            framing.mean_ratio(found[RED_BYTES]),
            *LITTLE,
        ),
        at_least(f"{RED}, which counts packets: the same", framing.mean_ratio(found[RED]), 1.0, "no faster"),
    ]


@item(
    "I-F12b",
    kind="SIM",
    title="TCP Smart Framing against TCP, RED with byte scaling",
    choices={
        **framing.CHOICES,
        "byte scaling": "drop probability times a packet's size over the mean packet of 500 bytes",
    },
    points_at=["stack sack+smart-framing", "queue red(byte_mode=true)", "formula break-even-loss"],
    tests=["tests/test_reproduce_interactive2007_framing.py::test_points_outside_the_range_are_not_compared"],
)
def reproduce(setting: Setting) -> Outcome:
    """Response times of both TCPs by loss, with RED that spares small packets and with RED that does not."""
    kinds = [RED_BYTES, RED]
    found = framing.measure(kinds, setting, "I-F12b")
    rows = [row for kind, points in found.items() for p in points for row in p.rows(kind)]
    figure = framing.picture(found, "Four small packets in place of one, RED")
    notes = [*framing.notes(found), framing.more_timeouts(found[RED_BYTES])]
    notes += framing.beside(kinds, setting, "I-F12b")
    return Outcome(judged(found), {"response": pa.Table.from_pylist(rows)}, {"response": figure}, notes)
