from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.backoff2008 import retransmission_loss
from ackclock.reproduce.item import Outcome, Setting, item, six_digits


@item("B-E1", kind="CF", title="Loss ratio of flows that send one packet per timeout")
def reproduce(setting: Setting) -> Outcome:
    """100 and 120 flows with an RTO of 1 s at 50 packets/s."""
    flows = np.array([100, 120])
    p = np.array([retransmission_loss(np.ones(n), 50.0) for n in flows])
    return Outcome(
        [six_digits("p of 100 and 120 flows", p, [0.5, 0.583333])],
        {"points": pa.table({"flows": flows, "p": p})},
    )
