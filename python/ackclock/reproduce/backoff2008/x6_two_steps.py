from __future__ import annotations

import pyarrow as pa

from ackclock.reproduce.backoff2008 import offered
from ackclock.reproduce.backoff2008.testbed import NONE, STAR, TCP
from ackclock.reproduce.item import Outcome, Setting, at_most, item

STEPS = ((TCP, STAR, 1.0, 1.4), (STAR, NONE, 1.1, 1.7))
"""Old and new stack of a step, and between which the old one's slowdown lies."""


@item("B-X6", kind="SIM", title="Deployment in two steps, Trace-II", choices=offered.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """TCP beside TCP*(3), TCP*(3) beside TCP*(inf), and TCP beside TCP*(inf), over the load."""
    ways = [(old, new) for old, new, *_ in STEPS] + [(TCP, NONE)]
    found = [
        offered.measure(old, new, setting, "B-X6", (i / len(ways), (i + 1) / len(ways)))
        for i, (old, new) in enumerate(ways)
    ]
    single = found[-1].middle
    checks = [s.check(low, high) for s, (_, _, low, high) in zip(found, STEPS, strict=False)]
    checks += [
        at_most(f"{s.old}, {s.new}: below that of a single step", s.middle, single, "B-F12b's")
        for s in found[:-1]
    ]
    rows = [row for s in found for row in s.rows()]
    figure = offered.picture(found, "What TCP flows lose by deployment in two steps and in one")
    return Outcome(
        checks, {"stacks": pa.Table.from_pylist(rows)}, {"slowdown": figure}, [s.note() for s in found]
    )
