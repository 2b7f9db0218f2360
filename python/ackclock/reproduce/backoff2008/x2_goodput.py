from __future__ import annotations

import pyarrow as pa

from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison, ratio
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, item

SECONDS = {"I": 20, "II": 150, "III": 200}
FULL_SEEDS = 10
"""Enough for intervals to decide: with four, the loss of Trace-III lay on its limit."""


def both(trace: str, setting: Setting, label: str, share: tuple[float, float]) -> Comparison:
    """TCP and TCP*(inf) over the congested bottleneck of B-F2."""
    seconds = (testbed.FULL if setting.full else SECONDS)[trace]
    more = {"repeat": FULL_SEEDS} if setting.full else {}
    scenario = testbed.scenario(
        testbed.dumbbell(10), testbed.web(trace, 10), testbed.freebsd("1s", TCP, NONE), seconds, **more
    )
    return comparison.run(scenario, setting, label, share=share)


DURATION = testbed.times(SECONDS)


@item(
    "B-X2",
    kind="SIM",
    title="Goodput and loss without backoff",
    choices={
        **testbed.ON_FREEBSD,
        "duration": DURATION,
        "random numbers": f"seeds 1 to {testbed.SEEDS} (1 to {FULL_SEEDS} with --full)",
        "goodput, loss": "at the bottleneck while flows arrive: payload carried for the first time, "
        "packets dropped",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The router's goodput and loss ratio for the three traces."""
    checks, notes, rows = [], [], []
    for i, trace in enumerate(SECONDS):
        found = both(trace, setting, "B-X2", (i / 3, (i + 1) / 3))
        goodput, loss = (
            {stack: found.number(stack, key) for stack in (TCP, NONE)} for key in ("goodput", "loss")
        )
        checks += [
            ratio(f"Trace-{trace}: goodput of TCP*(inf) over TCP", goodput[NONE], goodput[TCP], least=0.98),
            ratio(f"Trace-{trace}: loss of TCP*(inf) over TCP", loss[NONE], loss[TCP], least=1.0),
        ]
        notes += [f"Trace-{trace}: {note}" for note in found.notes()]
        rows += [{"trace": trace, **row} for row in found.rows]
    return Outcome(checks, {"stacks": pa.Table.from_pylist(rows)}, notes=notes)
