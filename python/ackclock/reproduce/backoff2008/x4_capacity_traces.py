from __future__ import annotations

import pyarrow as pa

from ackclock.reproduce.backoff2008 import capacity
from ackclock.reproduce.item import Outcome, Setting, between, item

PART = 0.7
"""Of the time of arrivals: there are three traces."""


@item(
    "B-X4",
    kind="SIM",
    title="The same load at 10 and at 50 Mbit/s, Traces II and III",
    choices={**capacity.CHOICES, "part": f"{PART:g} of these times"},
)
def reproduce(setting: Setting) -> Outcome:
    """The gain of each trace at two capacities."""
    found = {
        trace: capacity.compare(trace, setting, "B-X4", (i / 3, (i + 1) / 3), part=PART)
        for i, trace in enumerate(capacity.SECONDS)
    }
    gains = {trace: capacity.gains(c) for trace, c in found.items()}
    checks = [
        between(
            f"Trace-{trace}, {mbit} Mbit/s: P99 of TCP over TCP*(inf)",
            gains[trace][mbit],
            0.95,
            gains["I"][mbit],
        )
        for trace in ("II", "III")
        for mbit in capacity.MBIT
    ]
    notes = [f"Trace-{trace}: {note}" for trace, c in found.items() for note in c.notes()]
    rows = [{"trace": trace, **row} for trace, c in found.items() for row in c.rows]
    return Outcome(checks, {"stacks": pa.Table.from_pylist(rows)}, notes=notes)
