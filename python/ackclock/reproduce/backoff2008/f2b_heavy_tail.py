from __future__ import annotations

from ackclock.reproduce.backoff2008 import tails, testbed
from ackclock.reproduce.item import Outcome, Setting, item


@item(
    "B-F2b",
    kind="SIM",
    title="CCDF of response times with and without backoff, Trace-II",
    choices={**testbed.ON_FREEBSD, "duration": tails.duration("II")},
)
def reproduce(setting: Setting) -> Outcome:
    """As B-F2a, with sizes of a heavy tail."""
    found = tails.compare("II", "1s", setting, "B-F2b")
    return tails.outcome(found, tails.no_degradation(found), "II", "1s")
