"""A flow that is never idle: a first loss is found by duplicate acks unless it is one of the share Q; what is
lost again always times out (I-F2).
"""

import numpy as np

from ackclock.models.formula import LOSS, Array, Input, floats, formula
from ackclock.models.interactive2007.interactive import (
    BELOW_HALF,
    FAILED,
    RTO,
    RTT,
    interactive_latency,
    waiting,
)

Q = Input("ratio", "share of loss indications that are timeouts")


@formula("I-E9", name="backlogged-failed-latency", result="L'(i)", unit="s", i=FAILED, q=Q, rtt=RTT, rto=RTO)
def backlogged_failed_latency(i: Array, q: Array, rtt: Array, rto: Array = 1.0) -> Array:
    """Mean time until the ack of a backlogged flow's packet that was lost i times.

    `RTT + Q (2^i - 1) RTO + (1-Q)(RTT + (2^(i-1) - 1) RTO)`; RTT for i = 0.

    i: a count; q: a ratio; rtt, rto: seconds; shapes that broadcast. Returns seconds.
    Source: equation (9) of Mondal & Kuzmanovic 2007.
    """
    i, q, rtt, rto = floats(i, q, rtt, rto)
    lost = rtt + q * (2.0**i - 1.0) * rto + (1.0 - q) * (rtt + (2.0 ** (i - 1.0) - 1.0) * rto)
    return np.where(i < 1.0, rtt, lost)


@formula(
    "I-E10",
    name="backlogged-latency",
    result="E[L']",
    unit="s",
    domain=BELOW_HALF,
    p=LOSS,
    q=Q,
    rtt=RTT,
    rto=RTO,
)
def backlogged_latency(p: Array, q: Array, rtt: Array, rto: Array = 1.0) -> Array:
    """Mean time until a packet of a backlogged flow is acknowledged.

    `Q A RTO + RTT + p (1-Q)(A RTO + RTT)`, `A = p/(1-2p)`. It is below that of the interactive flow where
    `RTO (1-p)/(1-2p)` exceeds RTT.

    p: a ratio below 1/2; q: a ratio; rtt, rto: seconds; shapes that broadcast. Returns seconds, infinite from
    1/2 on. Source: equation (10) of Mondal & Kuzmanovic 2007.
    """
    p, q, rtt, rto = floats(p, q, rtt, rto)
    again = waiting(p) * rto
    with np.errstate(invalid="ignore"):
        return np.where(p < 0.5, q * again + rtt + p * (1.0 - q) * (again + rtt), np.inf)


@formula(
    "I-E10", name="backlogged-gain", result="G", unit="", domain=BELOW_HALF, p=LOSS, q=Q, rtt=RTT, rto=RTO
)
def backlogged_gain(p: Array, q: Array, rtt: Array, rto: Array = 1.0) -> Array:
    """How many times faster a packet of a backlogged flow is acknowledged than one of an interactive flow.

    `E[L]/E[L']`.

    p: a ratio below 1/2; q: a ratio; rtt, rto: seconds; shapes that broadcast. Returns a factor.
    Source: G of Mondal & Kuzmanovic 2007 (figure 4).
    """
    with np.errstate(invalid="ignore"):
        return interactive_latency(p, rtt, rto) / backlogged_latency(p, q, rtt, rto)
