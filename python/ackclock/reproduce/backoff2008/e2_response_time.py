from __future__ import annotations

import pyarrow as pa

from ackclock.models.backoff2008 import response_time
from ackclock.reproduce.item import Outcome, Setting, item, six_digits


@item("B-E2", kind="CF", title="Response time under a loss ratio")
def reproduce(setting: Setting) -> Outcome:
    """Ten packets, an RTO of 1 s, half of all packets lost."""
    r = float(response_time(10, 1.0, 0.5))
    return Outcome(
        [six_digits("r (s) of L = 10, RTO = 1 s, p = 0.5", r, 20.0)],
        {"points": pa.table({"packets": [10], "p": [0.5], "r": [r]})},
    )
