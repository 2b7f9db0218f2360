from __future__ import annotations

from ackclock.reproduce.backoff2008 import tails, testbed
from ackclock.reproduce.item import Outcome, Setting, item


@item(
    "B-F2a",
    kind="SIM",
    title="CCDF of response times with and without backoff, Trace-I",
    choices={**testbed.ON_FREEBSD, "duration": tails.duration("I")},
)
def reproduce(setting: Setting) -> Outcome:
    """Runs TCP, TCP*(3) and TCP*(inf) over the congested bottleneck, and TCP over the uncongested one."""
    found = tails.compare("I", "1s", setting, "B-F2a")
    return tails.outcome(found, tails.lowest_tail(found), "I", "1s")
