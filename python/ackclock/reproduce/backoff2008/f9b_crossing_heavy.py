from __future__ import annotations

from ackclock.reproduce.backoff2008 import crossing
from ackclock.reproduce.backoff2008 import two_bottlenecks as two
from ackclock.reproduce.backoff2008.comparison import ratio
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, item


@item("B-F9b", kind="SIM", title="Two bottlenecks, Trace-II", choices=crossing.choices("II"))
def reproduce(setting: Setting) -> Outcome:
    """Sizes of a heavy tail over two bottlenecks and over the first alone."""
    found = crossing.compare("II", setting, "B-F9b")
    checks = [
        ratio(
            f"{group}: mean of TCP*(inf) over TCP",
            found.mean(NONE, group=group),
            found.mean(TCP, group=group),
            most=most,
        )
        for group, most in ((two.FAR, 1.0), (two.NEAR, 1.15))
    ]
    return crossing.outcome(found, checks, "II")
