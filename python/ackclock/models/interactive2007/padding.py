"""Short-term padding: a few tiny packets behind each packet of data, so that a loss can be found by duplicate
acks (I-A6).
"""

import numpy as np

from ackclock.models.formula import LOSS, Array, Input, floats, formula
from ackclock.models.interactive2007.backlogged import backlogged_latency
from ackclock.models.interactive2007.interactive import BELOW_HALF, RTO, RTT
from ackclock.models.interactive2007.timeouts import at_most_two

M = Input("count", "packets sent together: the data and m - 1 dummies", default=4.0)


@formula("I-E11", name="padded-timeouts", result="Q(m)", unit="ratio", p=LOSS, m=M)
def padded_timeouts(p: Array, m: Array = 4.0) -> Array:
    """Share of the losses of a padded packet that are timeouts: fewer than three of its dummies arrive.

    `sum over i = 0..2 of C(m-1, i) p^(m-1-i) (1-p)^i`; with three dummies `1 - (1-p)^3`. Losses of single
    packets, not bursts.

    p: a ratio; m: a count; shapes that broadcast. Returns a share.
    Source: equation (11) of Mondal & Kuzmanovic 2007.
    """
    p, m = np.broadcast_arrays(*floats(p, m))
    return at_most_two(p, m - 1.0)


@formula(
    "I-E12", name="padded-latency", result="E[L']", unit="s", domain=BELOW_HALF, p=LOSS, rtt=RTT, rto=RTO, m=M
)
def padded_latency(p: Array, rtt: Array, rto: Array = 1.0, m: Array = 4.0) -> Array:
    """Mean time until a padded packet is acknowledged.

    `backlogged-latency` with Q(m).

    p: a ratio below 1/2; rtt, rto: seconds; m: a count; shapes that broadcast. Returns seconds, infinite from
    1/2 on. Source: equation (12) of Mondal & Kuzmanovic 2007.
    """
    return backlogged_latency(p, padded_timeouts(p, m), rtt, rto)
