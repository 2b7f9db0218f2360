"""A connection over n congested gateways, against local ones over one each: M-E6, M-E12, M-E13."""

import numpy as np

from ackclock.models.formula import Array, Input, floats, formula

GATEWAYS = Input("count", "congested gateways")


@formula(
    "M-E6",
    name="gateway-ratio",
    result="ratio",
    unit="",
    n=GATEWAYS,
    rtt_ratio=Input("number", "round-trip time end to end over the local one"),
)
def gateway_ratio(n: Array, rtt_ratio: Array) -> Array:
    """Bandwidth of a connection over n congested gateways, over that of a local connection, where loss is
    random at each.

    (RTT_i/RTT_0)/sqrt(n): the losses of the gateways add up, C and MSS cancel.

    n: whole; rtt_ratio: RTT_0/RTT_i, a number. Shapes that broadcast. Returns a ratio. Source: derived:
    equations (6) to (11) of Mathis, Semke, Mahdavi & Ott 1997 are missing in our copy of the paper.
    """
    n, rtt_ratio = floats(n, rtt_ratio)
    return 1.0 / (rtt_ratio * np.sqrt(n))


@formula(
    "M-E6", name="path-loss", result="p_0", unit="ratio", n=GATEWAYS, p=Input("ratio", "loss at each gateway")
)
def path_loss(n: Array, p: Array) -> Array:
    """Loss of a path of n gateways that each lose at random.

    1 - (1 - p)^n, about n p.

    n: whole; p: a ratio. Shapes that broadcast. Returns a ratio. Source: derived: equations (6) to (11)
    of Mathis, Semke, Mahdavi & Ott 1997 are missing in our copy of the paper.
    """
    n, p = floats(n, p)
    with np.errstate(divide="ignore"):
        return -np.expm1(n * np.log1p(-p))


@formula("M-E12", name="short-queue-share", result="share", unit="", n=GATEWAYS)
def short_queue_share(n: Array) -> Array:
    """Share of each congested link that a connection over n of them gets, queues short as with RED.

    1/(1 + sqrt(n)(2n - 1)): the delay of the 2n - 1 links sets its round-trip time.

    n: whole, any shape. Returns a share.
    Source: equation (12) of Mathis, Semke, Mahdavi & Ott 1997.
    """
    (n,) = floats(n)
    return _share(gateway_ratio(n, 2.0 * n - 1.0))


@formula("M-E13", name="long-queue-share", result="share", unit="", n=GATEWAYS)
def long_queue_share(n: Array) -> Array:
    """Share of each congested link that a connection over n of them gets, queues long as with overbuffered
    drop-tail.

    1/(1 + n^1.5): the delay of the n queues sets its round-trip time.

    n: whole, any shape. Returns a share.
    Source: equation (13) of Mathis, Semke, Mahdavi & Ott 1997.
    """
    (n,) = floats(n)
    return _share(gateway_ratio(n, n))


def _share(ratio: Array) -> Array:
    """The share of the link, from the ratio to the local connection with which it is filled."""
    return ratio / (1.0 + ratio)
