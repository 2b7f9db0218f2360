"""Latency of short TCP transfers: the handshake, slow-start up to the first loss, that loss, and the rest at
the rate of PFTK.

A window grows by the factor g = 1 + 1/b in each round trip of slow-start, b packets per ack.
"""

import math

import numpy as np

from ackclock.models.formula import Array, Input, floats, formula
from ackclock.models.pftk98 import backoff_factor, throughput, timeout_share
from ackclock.models.pftk98.throughput import RTO, RTT, WMAX, B

P = Input("ratio", "loss indications per packet sent")
D = Input("packets", "segments to transfer")
W1 = Input("packets", "initial window, segments", default=10.0)
BACK = Input("ratio", "loss of packets on the way back", default=0.0)
SYN_RTO = Input("time", "first timeout of a SYN", default=1.0)
DELACK = Input("span", "time that the receiver holds the ack of an initial window below b", default=0.1)
BELOW_HALF = "loss must be below 0.5, or doubled timeouts have no mean"


@formula(
    "CSA",
    name="cardwell",
    result="T",
    unit="s",
    d=D,
    p=P,
    rtt=RTT,
    rto=RTO,
    w1=W1,
    b=B,
    wmax=WMAX,
    delack=DELACK,
)
def transfer_latency(
    d: Array,
    p: Array,
    rtt: Array,
    rto: Array = 1.0,
    w1: Array = 10.0,
    b: Array = 2.0,
    wmax: Array = math.inf,
    delack: Array = 0.1,
) -> Array:
    """Time that a transfer of any length takes once its connection is open.

    Slow-start up to the first loss (15), that loss (20), the rest at the rate of `pftk-throughput` (24), and
    the delayed ack of a first window too small to be acknowledged at once.

    d, w1, wmax: segments; p: a ratio; rtt, rto, delack: seconds; b: a number. Shapes that broadcast. Returns
    seconds. Source: CSA, equation (25) of Cardwell, Savage & Anderson 2000, with `slow-start-data` as it
    reads here.
    """
    d, p, rtt, rto, w1, b, wmax, delack = floats(d, p, rtt, rto, w1, b, wmax, delack)
    first = slow_start_data(d, p)
    rest = np.maximum(d - first, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = throughput(p, rtt, rto, 0.125, b, wmax)
        avoidance = np.where(rest > 0.0, rest / rate, 0.0)
    waiting = np.where(w1 < b, delack, 0.0)
    return (
        slow_start_latency(first, rtt, w1, b, wmax)
        + loss_latency(d, p, rtt, rto, w1, b, wmax)
        + avoidance
        + waiting
    )


@formula(
    "CSA",
    name="handshake-time",
    result="T",
    unit="s",
    domain=BELOW_HALF,
    p=P,
    rtt=RTT,
    back=BACK,
    rto=SYN_RTO,
)
def handshake_time(p: Array, rtt: Array, back: Array = 0.0, rto: Array = 1.0) -> Array:
    """Time that a handshake takes, SYNs and SYN-ACKs being retransmitted with doubled timeouts.

    RTT + Ts ((1-pr)/(1-2pr) + (1-pf)/(1-2pf) - 2), pf and pr the loss there and back. Ts was 3 s then; it is
    1 s since RFC 6298.

    p, back: ratios below 1/2; rtt, rto: seconds. Shapes that broadcast. Returns seconds, infinite from 1/2
    on. Source: CSA, equation (4) of Cardwell, Savage & Anderson 2000.
    """
    p, back, rtt, rto = floats(p, back, rtt, rto)
    with np.errstate(divide="ignore", invalid="ignore"):
        there, again = ((1.0 - q) / (1.0 - 2.0 * q) for q in (p, back))
    return np.where((p < 0.5) & (back < 0.5), rtt + rto * (there + again - 2.0), np.inf)


@formula("CSA", name="slow-start-data", result="d_ss", unit="packets", d=D, p=P)
def slow_start_data(d: Array, p: Array) -> Array:
    """Segments that slow-start sends up to its first loss, the lost one included.

    (1 - (1-p)^d)/p, which is d without loss. The printed equation is up to one segment more: see
    slow-start-data-printed.

    d: segments; p: a ratio. Shapes that broadcast. Returns segments.
    Source: CSA, derived: the sum over the segments k < d of the chance that all before it arrive.
    """
    d, p = np.broadcast_arrays(*floats(d, p))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p == 0.0, d, -np.expm1(d * np.log1p(-p)) / p)


@formula("CSA", name="slow-start-data-printed", result="d_ss", unit="packets", d=D, p=P)
def slow_start_data_printed(d: Array, p: Array) -> Array:
    """Segments that slow-start sends up to its first loss, as printed: more than there are, where loss is
    rare.

    (1 - (1-p)^d)(1-p)/p + 1: the lost one is counted whether or not there is one.

    d: segments; p: a ratio. Shapes that broadcast. Returns segments.
    Source: CSA, equation (5) of Cardwell, Savage & Anderson 2000.
    """
    d, p = floats(d, p)
    return slow_start_data(d, p) * (1.0 - p) + 1.0


@formula("CSA", name="slow-start-window", result="W_ss", unit="packets", d=D, w1=W1, b=B)
def slow_start_window(d: Array, w1: Array = 10.0, b: Array = 2.0) -> Array:
    """Window in the last round trip of a slow-start that sends d segments, where nothing limits it.

    d (g-1)/g + w1/g.

    d, w1: segments; b: a number. Shapes that broadcast. Returns segments.
    Source: CSA, equation (11) of Cardwell, Savage & Anderson 2000.
    """
    d, w1, b = floats(d, w1, b)
    growth = 1.0 + 1.0 / b
    return (d * (growth - 1.0) + w1) / growth


@formula("CSA", name="slow-start-latency", result="T_ss", unit="s", d=D, rtt=RTT, w1=W1, b=B, wmax=WMAX)
def slow_start_latency(
    d: Array, rtt: Array, w1: Array = 10.0, b: Array = 2.0, wmax: Array = math.inf
) -> Array:
    """Time that slow-start takes to send d segments.

    RTT log_g(d (g-1)/w1 + 1); where the window reaches Wmax, RTT (log_g(Wmax/w1) + 1 + (d - (g Wmax -
    w1)/(g-1))/Wmax). Round trips are not whole numbers here, but there is at least one: the printed equation
    has less where d is below w1.

    d, w1, wmax: segments; rtt: seconds; b: a number. Shapes that broadcast. Returns seconds.
    Source: CSA, equation (15) of Cardwell, Savage & Anderson 2000.
    """
    d, rtt, w1, b, wmax = floats(d, rtt, w1, b, wmax)
    w1 = np.minimum(w1, wmax)
    growth = 1.0 + 1.0 / b
    with np.errstate(invalid="ignore"):
        limited = (
            np.log(wmax / w1) / np.log(growth) + 1.0 + (d - (growth * wmax - w1) / (growth - 1.0)) / wmax
        )
    unlimited = np.log1p(d * (growth - 1.0) / w1) / np.log(growth)
    return rtt * np.maximum(np.where(slow_start_window(d, w1, b) > wmax, limited, unlimited), 1.0)


@formula(
    "CSA",
    name="first-loss-latency",
    result="T_loss",
    unit="s",
    d=D,
    p=P,
    rtt=RTT,
    rto=RTO,
    w1=W1,
    b=B,
    wmax=WMAX,
)
def loss_latency(
    d: Array, p: Array, rtt: Array, rto: Array = 1.0, w1: Array = 10.0, b: Array = 2.0, wmax: Array = math.inf
) -> Array:
    """Time that the loss which ends slow-start costs, where there is one.

    (1-(1-p)^d) (Q T0 G/(1-p) + (1-Q) RTT), with Q = Q(p, W_ss): timeouts, or a round trip of fast recovery.

    d, w1, wmax: segments; p: a ratio; rtt, rto: seconds; b: a number. Shapes that broadcast. Returns seconds.
    Source: CSA, equations (16) to (20) of Cardwell, Savage & Anderson 2000.
    """
    d, p, rtt, rto, w1, b, wmax = floats(d, p, rtt, rto, w1, b, wmax)
    q = timeout_share(p, np.minimum(slow_start_window(slow_start_data(d, p), w1, b), wmax))
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = -np.expm1(d * np.log1p(-p))
        return chance * (q * rto * backoff_factor(p) / (1.0 - p) + (1.0 - q) * rtt)
