from __future__ import annotations

from ackclock.reproduce.backoff2008 import crossing
from ackclock.reproduce.backoff2008 import two_bottlenecks as two
from ackclock.reproduce.backoff2008.comparison import ratio
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, item


@item("B-F9a", kind="SIM", title="Two bottlenecks, Trace-I", choices=crossing.choices("I"))
def reproduce(setting: Setting) -> Outcome:
    """Short flows over two bottlenecks and over the first alone."""
    found = crossing.compare("I", setting, "B-F9a")
    checks = [
        ratio(
            f"{group}: mean of TCP*(inf) over TCP",
            found.mean(NONE, group=group),
            found.mean(TCP, group=group),
            most=1.0,
        )
        for group in (two.FAR, two.NEAR)
    ]
    return crossing.outcome(found, checks, "I")
