from __future__ import annotations

import pyarrow as pa

from ackclock.reproduce.backoff2008 import tails, testbed
from ackclock.reproduce.item import Check, Outcome, Setting, item

PART = 0.5
"""Of the time of B-F2's arrivals, since there are three traces."""


@item(
    "B-X1",
    kind="SIM",
    title="Figure 2 with a minimum RTO of 200 ms",
    choices={**testbed.ON_FREEBSD, "duration": testbed.times(tails.SECONDS, part=PART)},
)
def reproduce(setting: Setting) -> Outcome:
    """The three traces of B-F2 with (0.2, 3.0) for minimum and initial RTO."""
    checks, figures, notes, rows = [], {}, [], []
    for i, trace in enumerate(tails.SECONDS):
        part = Setting(
            setting.full, setting.workers, lambda share, label, i=i: setting.progress((i + share) / 3, label)
        )
        found = tails.compare(trace, "200ms", part, "B-X1", part=PART)
        held = tails.lowest_tail(found) if trace == "I" else tails.no_degradation(found)
        checks += [Check(f"Trace-{trace}: {c.name}", c.expected, c.got, c.holds) for c in held]
        made = tails.outcome(found, [], trace, "200ms")
        figures[f"ccdf-{trace}"] = made.figures["ccdf"]
        notes += [f"Trace-{trace}: {note}" for note in made.notes]
        rows += [{"trace": trace, **row} for row in found.rows]
    return Outcome(checks, {"stacks": pa.Table.from_pylist(rows)}, figures, notes)
