from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.reproduce.interactive2007 import framing
from ackclock.reproduce.interactive2007.testbed import RED_BYTES
from ackclock.reproduce.item import Check, Outcome, Setting, at_most, item

SLOWEST = 1.15
"""Times that TCP-SF takes as long as TCP at most; the register has 0.85 to 1.15 or better (I-F12b)."""


def judged(points: list[framing.Point]) -> list[Check]:
    """Whether TCP-SF is at least about as fast, and its segments are lost less often."""
    own = framing.compared(points)
    ratio = float(np.mean([p.ratio for p in own]))
    lost = max(float(p.loss[framing.FRAMED].mean() / p.loss[framing.TCP].mean()) for p in own)
    return [
        at_most(
            f"{RED_BYTES}: TCP-SF over TCP, mean over the losses compared",
            ratio,
            SLOWEST,
            "0.85 to 1.15 or better",
        ),
        at_most(
            f"{RED_BYTES}: loss of small segments over that of whole packets, the most",
            lost,
            1.0,
            "drop probability shrinks with size",
        ),
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
    """Response times of both TCPs by loss, with RED that spares small packets."""
    found = framing.measure([RED_BYTES], setting, "I-F12b")
    rows = [row for p in found[RED_BYTES] for row in p.rows(RED_BYTES)]
    figure = framing.picture(found, "Four small packets in place of one, RED with byte scaling")
    return Outcome(
        judged(found[RED_BYTES]),
        {"response": pa.Table.from_pylist(rows)},
        {"response": figure},
        framing.notes(found),
    )
