from __future__ import annotations

import pyarrow as pa

from ackclock.models.backoff2008 import survey_backoff
from ackclock.reproduce.item import Outcome, Setting, item, six_digits

SERVERS, TIMEOUTS, CONSECUTIVE = 75_000, 0.08, 0.52


@item(
    "B-E9",
    kind="CF",
    title="Counts of the survey",
    choices={"servers": "all 75,000 are taken to have answered"},
)
def reproduce(setting: Setting) -> Outcome:
    """Connections with a timeout, and with a consecutive one."""
    share = float(survey_backoff(TIMEOUTS, CONSECUTIVE))
    counts = [SERVERS * TIMEOUTS, SERVERS * share]
    checks = [
        six_digits("servers with a timeout, with backoff", counts, [6000, 3120]),
        six_digits("share that sees backoff (%)", 100 * share, 4.16),
    ]
    return Outcome(checks, {"points": pa.table({"what": ["timeout", "backoff"], "servers": counts})})
