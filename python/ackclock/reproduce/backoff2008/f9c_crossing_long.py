from __future__ import annotations

from ackclock.reproduce.backoff2008 import crossing
from ackclock.reproduce.backoff2008 import two_bottlenecks as two
from ackclock.reproduce.backoff2008.comparison import ratio
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, item

WITHIN = 100
"""Seconds."""


@item("B-F9c", kind="SIM", title="Two bottlenecks, Trace-III", choices=crossing.choices("III"))
def reproduce(setting: Setting) -> Outcome:
    """Long flows among short ones: the share that is done in time."""
    found = crossing.compare("III", setting, "B-F9c")
    checks = []
    for group in (two.FAR, two.NEAR):
        done = {stack: crossing.finished_within(found, stack, group, WITHIN) for stack in (TCP, NONE)}
        checks.append(
            ratio(
                f"{group}: share done within {WITHIN} s, TCP*(inf) over TCP", done[NONE], done[TCP], least=1.0
            )
        )
    return crossing.outcome(found, checks, "III")
