"""A flow that sends one packet at a time: only a timeout detects a loss, and each further one takes twice as
long (I-F2).
"""

import numpy as np

from ackclock.models.formula import LOSS, Array, Input, floats, formula

RTT = Input("time", "round-trip time")
RTO = Input("time", "retransmission timeout, not backed off", default=1.0)
FAILED = Input("count", "transmissions of the packet that were lost")
BELOW_HALF = "loss must be below 0.5, or doubled timeouts have no mean"


@formula("I-E1", name="failures", result="P", unit="ratio", p=LOSS, i=FAILED)
def failures(p: Array, i: Array) -> Array:
    """Chance that a packet is lost i times before it arrives.

    `p^i (1 - p)`.

    p: a ratio; i: a count; shapes that broadcast. Returns a ratio.
    Source: equation (1) of Mondal & Kuzmanovic 2007.
    """
    p, i = floats(p, i)
    return p**i * (1.0 - p)


@formula("I-E2", name="failed-latency", result="L(i)", unit="s", i=FAILED, rtt=RTT, rto=RTO)
def failed_latency(i: Array, rtt: Array, rto: Array = 1.0) -> Array:
    """Time until the ack of a packet that was lost i times, where each loss costs a timeout.

    `(2^i - 1) RTO + RTT`.

    i: a count; rtt, rto: seconds; shapes that broadcast. Returns seconds.
    Source: equation (2) of Mondal & Kuzmanovic 2007.
    """
    i, rtt, rto = floats(i, rtt, rto)
    return (2.0**i - 1.0) * rto + rtt


@formula(
    "I-E3", name="interactive-latency", result="E[L]", unit="s", domain=BELOW_HALF, p=LOSS, rtt=RTT, rto=RTO
)
def interactive_latency(p: Array, rtt: Array, rto: Array = 1.0) -> Array:
    """Mean time until a packet of an interactive flow is acknowledged.

    `p/(1-2p) RTO + RTT`.

    p: a ratio below 1/2; rtt, rto: seconds; shapes that broadcast. Returns seconds, infinite from 1/2 on.
    Source: equation (3) of Mondal & Kuzmanovic 2007.
    """
    p, rtt, rto = floats(p, rtt, rto)
    return waiting(p) * rto + rtt


def waiting(p: Array) -> Array:
    """A of I-E10: the mean time that a chain of doubled timeouts takes, in first timeouts.
    `(1-p)/(1-2p) - 1 = p/(1-2p)`, infinite from 1/2 on.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p < 0.5, p / (1.0 - 2.0 * p), np.inf)
