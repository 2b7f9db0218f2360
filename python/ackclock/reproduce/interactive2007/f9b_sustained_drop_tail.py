from __future__ import annotations

from ackclock.reproduce.interactive2007 import sustained, testbed
from ackclock.reproduce.item import Outcome, Setting, at_least, item

STEEPER = 2.0
"""Times the slope of diversity with RED that its slope with drop-tail exceeds (I-F9b)."""
NEAR = 250
"""Flows up to which the slopes are given as well."""


@item(
    "I-F9b",
    kind="SIM",
    title="How many flows a link sustains, by approach, drop-tail",
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
    """Latency against the number of flows, and how much more steeply that of diversity rises than with
    RED.
    """
    outcome, curves = sustained.outcome(
        testbed.DROP_TAIL_BYTES, setting, "I-F9b", "How many interactive flows a link sustains, drop-tail"
    )
    (red,), outcome.tables["red"] = sustained.measure(
        testbed.RED, setting, "I-F9b", [sustained.of(curves, sustained.DIVERSITY).approach]
    )
    slopes = {"drop-tail": sustained.of(curves, sustained.DIVERSITY).slope(), "RED": red.slope()}
    outcome.checks.append(
        at_least(
            "slope of III beyond its departure over that with RED",
            slopes["drop-tail"] / slopes["RED"],
            STEEPER,
            "more than",
        )
    )
    near = [c.slope(NEAR) for c in (sustained.of(curves, sustained.DIVERSITY), red)]
    outcome.notes.append(
        f"slope of III (ms per flow): drop-tail {1e3 * slopes['drop-tail']:.3g}, RED "
        f"{1e3 * slopes['RED']:.3g}; only up to {NEAR} flows {1e3 * near[0]:.3g} and "
        f"{1e3 * near[1]:.3g}, {near[0] / near[1]:.3g} times: farther out either queue drops half of "
        "what comes"
    )
    return outcome
