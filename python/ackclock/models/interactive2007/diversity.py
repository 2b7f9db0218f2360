"""Diversity: k copies of each packet at once; only when all are lost is there a timeout, and single
retransmissions from then on (I-A7).
"""

import numpy as np

from ackclock.models.formula import LOSS, Array, Input, floats, formula
from ackclock.models.interactive2007.interactive import BELOW_HALF, FAILED, RTO, RTT, waiting

K = Input("count", "copies of each packet", default=2.0)


@formula("I-E13", name="diversity-failures", result="P", unit="ratio", p=LOSS, i=FAILED, k=K)
def diversity_failures(p: Array, i: Array, k: Array = 2.0) -> Array:
    """Chance that a packet sent as k copies has failed i times before it arrives: all copies, then single
    retransmissions.

    `1 - p^k` for i = 0, `p^(k+i-1) (1-p)` beyond.

    p: a ratio; i, k: counts; shapes that broadcast. Returns a ratio.
    Source: equation (13) of Mondal & Kuzmanovic 2007.
    """
    p, i, k = floats(p, i, k)
    return np.where(i < 1.0, 1.0 - p**k, p ** (k + i - 1.0) * (1.0 - p))


@formula(
    "I-E14",
    name="diversity-latency",
    result="E[L']",
    unit="s",
    domain=BELOW_HALF,
    p=LOSS,
    rtt=RTT,
    rto=RTO,
    k=K,
)
def diversity_latency(p: Array, rtt: Array, rto: Array = 1.0, k: Array = 2.0) -> Array:
    """Mean time until a packet sent as k copies is acknowledged.

    `p^(k-1) A RTO + RTT`, `A = p/(1-2p)`; k = 1 is the interactive flow.

    p: a ratio below 1/2; rtt, rto: seconds; k: a count; shapes that broadcast. Returns seconds, infinite from
    1/2 on. Source: equation (14) of Mondal & Kuzmanovic 2007.
    """
    p, rtt, rto, k = floats(p, rtt, rto, k)
    return p ** (k - 1.0) * waiting(p) * rto + rtt
