from __future__ import annotations

import pyarrow as pa

from ackclock.models.backoff2008 import response_time_without_backoff, retransmission_loss
from ackclock.reproduce.item import Outcome, Setting, item, six_digits

RTO = [0.2, 0.5, 1.0, 3.0]
"""Timeouts of the register's four flows, seconds."""


@item("B-E3", kind="CF", title="Response times without backoff")
def reproduce(setting: Setting) -> Outcome:
    """Four flows of ten packets at 5 packets/s."""
    r = response_time_without_backoff([10] * 4, RTO, 5.0)
    checks = [
        six_digits("S (packets/s)", sum(1 / t for t in RTO), 8.33333),
        six_digits("p", retransmission_loss(RTO, 5.0), 0.4),
        six_digits("r (s) of the four flows", r, [3.33333, 8.33333, 16.6667, 50.0]),
    ]
    return Outcome(checks, {"points": pa.table({"rto": RTO, "r": r})})
