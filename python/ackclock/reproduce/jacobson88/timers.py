"""The timers that the items compare, without floors or ceilings that a series would meet."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ackclock.models.timer import Array, Timer

TICK = 0.5
"""The tick of 4.3BSD's clock, seconds (J-A6)."""

OLD = Timer("rfc793", (("min_rto", "0s"), ("max_rto", "1h")))
"""J-A3: alpha 0.9, beta 2."""
REAL = Timer("jacobson88", (("min_rto", "0s"), ("max_rto", "1h")))
"""J-A4 and J-E7: real arithmetic."""

CHOICES = {
    "RFC 793 timer": "the first sample sets R; no floor and no ceiling; exact samples",
    "mean and deviation": "integers in ticks of 500 ms (J-A6); the first sample sets a = m, v = m/2; at "
    "least two ticks, as in 4.3BSD",
}


def ticking(tick: float = TICK, **params: str) -> Timer:
    """J-A6 on a clock of `tick` seconds, with further parameters."""
    return Timer("jacobson88-ticks", (("tick", f"{1e6 * tick:.0f}us"), ("max_rto", "1h"), *params.items()))


NEW = ticking()
"""J-A6."""


def before(rows: Mapping[str, Array]) -> Array:
    """RTO(i-1), with which RTT(i) is compared; NaN at the first row."""
    return np.append(np.nan, rows["rto"][:-1])


def spurious(timer: Timer, series: Mapping[str, Array]) -> int:
    """How often the timeout would have come before the ack."""
    return int(timer.rows(series)["spurious"].sum())
