from __future__ import annotations

import pyarrow as pa

from ackclock.reproduce.backoff2008 import deployment
from ackclock.reproduce.backoff2008.testbed import NONE, STAR, TCP
from ackclock.reproduce.item import Outcome, Setting, at_most, between, item

STEPS = ((TCP, STAR, 1.0, 1.4), (STAR, NONE, 1.1, 1.7), (TCP, NONE, 0.0, 0.0))
"""Old and new stack of a step, and between which the old one's slowdown lies; the last is B-F12b's single
step.
"""
SHARE = 0.9


@item(
    "B-X6",
    kind="SIM",
    title="Deployment in two steps, Trace-II",
    choices={**deployment.CHOICES, "shares": "90 % of the new stack, and none of it"},
)
def reproduce(setting: Setting) -> Outcome:
    """TCP beside TCP*(3), TCP*(3) beside TCP*(inf), and TCP beside TCP*(inf)."""
    slowdown, notes, rows = {}, [], []
    for i, (old, new, *_) in enumerate(STEPS):
        part = Setting(
            setting.full,
            setting.workers,
            lambda share, label, i=i: setting.progress((i + share) / len(STEPS), label),
        )
        m = deployment.mixes("II", old, new, part, "B-X6", shares=(SHARE,))
        slowdown[old, new] = m.slowdown(SHARE)
        notes += [f"{old} beside {new}: {note}" for note in m.notes()]
        rows += [{"old": old, "new": new, **row} for row in m.rows()]
    checks = [
        between(f"slowdown of {old} beside 90 % {new}", slowdown[old, new], low, high)
        for old, new, low, high in STEPS[:2]
    ]
    single = slowdown[TCP, NONE]
    checks += [
        at_most(f"{old}, {new}: below that of a single step", slowdown[old, new], single, "B-F12b's")
        for old, new, *_ in STEPS[:2]
    ]
    return Outcome(checks, {"stacks": pa.Table.from_pylist(rows)}, notes=notes)
