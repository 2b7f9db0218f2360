"""Window and bandwidth of long transfers under congestion avoidance: M-E1 to M-E5, M-E14."""

import math

import numpy as np

from ackclock.models.formula import Array, Input, floats, formula

PERIODIC = math.sqrt(1.5)
"""C for periodic loss and an ack for each packet (M-E3, M-T1a); sqrt(3/4) with delayed acks (M-T1b)."""

SIGNALS = Input("ratio", "congestion signals per acknowledged packet")
MSS = Input("size", "segment size", default=1460.0)
RTT = Input("time", "round-trip time that the connection samples")
C = Input(
    "number",
    "constant: 1.22 or 0.87 (periodic loss; ack per packet, delayed), 1.31 or 0.93 (random loss)",
    default=PERIODIC,
)
K = Input("number", "exponent of p", default=-0.5)


@formula("M-E3", name="mathis", result="BW", unit="bit/s", p=SIGNALS, rtt=RTT, mss=MSS, c=C)
def bandwidth(p: Array, rtt: Array, mss: Array = 1460.0, c: Array = PERIODIC) -> Array:
    """Bandwidth of a long transfer under congestion avoidance.

    MSS/RTT C/sqrt(p).

    p: a ratio; rtt: seconds; mss: bytes; c: a number. Shapes that broadcast. Returns bit/s.
    Source: equation (3) of Mathis, Semke, Mahdavi & Ott 1997.
    """
    p, rtt, mss, c = floats(p, rtt, mss, c)
    return 8.0 * mss / rtt * average_window(p, c)


@formula("M-E3", name="mathis-window", result="W", unit="packets", p=SIGNALS, c=C)
def average_window(p: Array, c: Array = PERIODIC) -> Array:
    """Average window of a long transfer under congestion avoidance.

    C/sqrt(p).

    p: a ratio; c: a number. Shapes that broadcast. Returns packets.
    Source: equation (3) of Mathis, Semke, Mahdavi & Ott 1997, times RTT/MSS.
    """
    p, c = floats(p, c)
    return c / np.sqrt(p)


@formula("M-E1", name="peak-window", result="W", unit="packets", p=SIGNALS)
def peak_window(p: Array) -> Array:
    """Window at which the loss comes, where every 1/p-th packet is lost and each packet is acknowledged.

    sqrt(8/(3 p)): a cycle of W/2 round trips carries 3/8 W^2 = 1/p packets.

    p: a ratio, any shape. Returns packets.
    Source: equation (1) of Mathis, Semke, Mahdavi & Ott 1997.
    """
    (p,) = floats(p)
    return np.sqrt(8.0 / (3.0 * p))


@formula("M-E2", name="periodic-bandwidth", result="BW", unit="bit/s", p=SIGNALS, rtt=RTT, mss=MSS)
def periodic_bandwidth(p: Array, rtt: Array, mss: Array = 1460.0) -> Array:
    """Bandwidth where every 1/p-th packet is lost and each packet is acknowledged: what a cycle carries, over
    what it takes.

    MSS (3/8) W^2/(RTT W/2) with W of `peak-window`, which is MSS/RTT 1/sqrt(2p/3).

    p: a ratio; rtt: seconds; mss: bytes. Shapes that broadcast. Returns bit/s.
    Source: equation (2) of Mathis, Semke, Mahdavi & Ott 1997.
    """
    p, rtt, mss = floats(p, rtt, mss)
    window = peak_window(p)
    return 8.0 * mss * 0.375 * window**2 / (rtt * window / 2.0)


@formula("M-E4", name="bandwidth-bound", result="bound", unit="bit/s", p=SIGNALS, rtt=RTT, mss=MSS)
def bandwidth_bound(p: Array, rtt: Array, mss: Array = 1460.0) -> Array:
    """Simple bound of the bandwidth of a long transfer: C is below 1 with delayed acks.

    MSS/RTT 1/sqrt(p).

    p: a ratio; rtt: seconds; mss: bytes. Shapes that broadcast. Returns bit/s.
    Source: equation (4) of Mathis, Semke, Mahdavi & Ott 1997.
    """
    return bandwidth(p, rtt, mss, 1.0)


@formula("M-E5", name="power-law", result="BW", unit="bit/s", p=SIGNALS, rtt=RTT, mss=MSS, c=C, k=K)
def power_law(p: Array, rtt: Array, mss: Array = 1460.0, c: Array = PERIODIC, k: Array = -0.5) -> Array:
    """Bandwidth of a long transfer with a free exponent, as fitted to measurements.

    MSS/RTT C p^k.

    p: a ratio; rtt: seconds; mss: bytes; c, k: numbers. Shapes that broadcast. Returns bit/s.
    Source: equation (5) of Mathis, Semke, Mahdavi & Ott 1997.
    """
    p, rtt, mss, c, k = floats(p, rtt, mss, c, k)
    return 8.0 * mss / rtt * power_law_window(p, c, k)


@formula("M-E5", name="power-law-window", result="W", unit="packets", p=SIGNALS, c=C, k=K)
def power_law_window(p: Array, c: Array = PERIODIC, k: Array = -0.5) -> Array:
    """Average window of a long transfer with a free exponent, as fitted to measurements.

    C p^k.

    p: a ratio; c, k: numbers. Shapes that broadcast. Returns packets.
    Source: equation (5) of Mathis, Semke, Mahdavi & Ott 1997, times RTT/MSS.
    """
    p, c, k = floats(p, c, k)
    return c * p**k


@formula(
    "M-E14",
    name="loss-for-rate",
    result="p",
    unit="ratio",
    rate=Input("rate", "rate to reach"),
    rtt=RTT,
    mss=MSS,
)
def loss_for_rate(rate: Array, rtt: Array, mss: Array = 1460.0) -> Array:
    """Congestion signals per packet above which a rate cannot be reached, from the simple bound.

    (MSS/(BW RTT))^2. Above 1 for rates that any loss allows.

    rate: bit/s; rtt: seconds; mss: bytes. Shapes that broadcast. Returns a ratio.
    Source: equation (14) of Mathis, Semke, Mahdavi & Ott 1997.
    """
    rate, rtt, mss = floats(rate, rtt, mss)
    return (8.0 * mss / (rate * rtt)) ** 2
