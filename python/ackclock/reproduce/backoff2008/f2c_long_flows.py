from __future__ import annotations

from ackclock.reproduce.backoff2008 import tails, testbed
from ackclock.reproduce.item import Outcome, Setting, item


@item(
    "B-F2c",
    kind="SIM",
    title="CCDF of response times with and without backoff, Trace-III",
    choices={**testbed.ON_FREEBSD, "duration": tails.duration("III")},
)
def reproduce(setting: Setting) -> Outcome:
    """As B-F2a, with long flows among the short ones."""
    found = tails.compare("III", "1s", setting, "B-F2c")
    return tails.outcome(found, tails.no_degradation(found), "III", "1s")
