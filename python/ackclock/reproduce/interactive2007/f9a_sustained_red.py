from __future__ import annotations

from dataclasses import replace

from ackclock.reproduce.interactive2007 import sustained, testbed
from ackclock.reproduce.item import Outcome, Setting, item


@item(
    "I-F9a",
    kind="SIM",
    title="How many flows a link sustains, by approach, RED",
    choices=sustained.CHOICES,
    points_at=[
        "formula flows-sustained",
        "application padded",
        "application backlogged",
        "stack sack+diversity(2)",
    ],
    tests=["tests/test_reproduce_interactive2007_sustained.py::test_a_departure_is_where_the_line_crosses"],
)
def reproduce(setting: Setting) -> Outcome:
    """Latency against the number of flows, all with one approach."""
    outcome, curves = sustained.outcome(
        testbed.RED, setting, "I-F9a", "How many interactive flows a link sustains, RED"
    )
    outcome.checks.append(sustained.beyond(curves))
    padded = replace(sustained.of(curves, sustained.PADDED).approach, flows=(50, 220, 240, 260))
    (of_bytes,), outcome.tables["in_bytes"] = sustained.measure(
        sustained.RED_OF_BYTES, setting, "I-F9a", [padded]
    )
    outcome.notes.append(
        f"{padded.name}: departs at {of_bytes.departure:.0f} where RED's thresholds count bytes: "
        "dummies are then no packets"
    )
    return outcome
