"""Average window of CUBIC where every 1/p-th packet is lost."""

import numpy as np

from ackclock.models.formula import Array, Input, floats, formula

P = Input("ratio", "loss events per packet sent")
RTT = Input("time", "round-trip time")
MSS = Input("size", "segment size", default=1460.0)
C = Input("number", "aggressiveness, segments/s^3", default=0.4)
BETA = Input("ratio", "factor of a decrease", default=0.7)
WINDOW = Input("packets", "average window to reach, segments")
RENO = 1.2
"""Reno's constant in the tables of RFC 9438, from RFC 3649: a window of 1.2/sqrt(p)."""


@formula(
    "RFC9438", name="cubic", result="BW", unit="bit/s", p=P, rtt=RTT, mss=MSS, c_cubic=C, beta_cubic=BETA
)
def bandwidth(
    p: Array, rtt: Array, mss: Array = 1460.0, c_cubic: Array = 0.4, beta_cubic: Array = 0.7
) -> Array:
    """Bandwidth of a long CUBIC transfer, never below Reno's.

    MSS/RTT times `cubic-window`.

    p: a ratio; rtt: seconds; mss: bytes; c_cubic: segments/s^3; beta_cubic: a ratio. Shapes that broadcast.
    Returns bit/s. Source: RFC9438, section 5.1: tables 1 and 2, times MSS/RTT.
    """
    p, rtt, mss = floats(p, rtt, mss)
    return 8.0 * mss / rtt * average_window(p, rtt, c_cubic, beta_cubic)


@formula("RFC9438", name="cubic-window", result="W", unit="packets", p=P, rtt=RTT, c_cubic=C, beta_cubic=BETA)
def average_window(p: Array, rtt: Array, c_cubic: Array = 0.4, beta_cubic: Array = 0.7) -> Array:
    """Average window of CUBIC, never below Reno's.

    The larger of `cubic-window-alone` and 1.2/sqrt(p), Reno's in the Reno-friendly region.

    p: a ratio; rtt: seconds; c_cubic: segments/s^3; beta_cubic: a ratio. Shapes that broadcast. Returns
    segments. Source: RFC9438, section 5.1: tables 1 and 2.
    """
    return np.maximum(window_alone(p, rtt, c_cubic, beta_cubic), RENO / np.sqrt(np.asarray(p, dtype=float)))


@formula(
    "RFC9438", name="cubic-window-alone", result="W", unit="packets", p=P, rtt=RTT, c_cubic=C, beta_cubic=BETA
)
def window_alone(p: Array, rtt: Array, c_cubic: Array = 0.4, beta_cubic: Array = 0.7) -> Array:
    """Average window of CUBIC's cubic curve by itself.

    (C (3+beta)/(4 (1-beta)))^(1/4) RTT^(3/4)/p^(3/4), which is 1.054 (RTT/p)^(3/4) with C = 0.4 and beta =
    0.7.

    p: a ratio; rtt: seconds; c_cubic: segments/s^3; beta_cubic: a ratio. Shapes that broadcast. Returns
    segments. Source: RFC9438, section 5: AVG_W_cubic.
    """
    p, rtt, c, beta = floats(p, rtt, c_cubic, beta_cubic)
    return (c * (3.0 + beta) / (4.0 * (1.0 - beta))) ** 0.25 * (rtt / p) ** 0.75


@formula(
    "RFC9438", name="cubic-loss", result="p", unit="ratio", window=WINDOW, rtt=RTT, c_cubic=C, beta_cubic=BETA
)
def loss_for_window(window: Array, rtt: Array, c_cubic: Array = 0.4, beta_cubic: Array = 0.7) -> Array:
    """Loss above which CUBIC does not reach an average window: `cubic-window` the other way round.

    max(RTT (C (3+beta)/(4 (1-beta)))^(1/3) W^(-4/3), (1.2/W)^2).

    window: segments; rtt: seconds; c_cubic: segments/s^3; beta_cubic: a ratio. Shapes that broadcast. Returns
    a ratio. Source: RFC9438, section 5.2: table 3.
    """
    window, rtt, c, beta = floats(window, rtt, c_cubic, beta_cubic)
    alone = rtt * (c * (3.0 + beta) / (4.0 * (1.0 - beta))) ** (1.0 / 3.0) * window ** (-4.0 / 3.0)
    return np.maximum(alone, (RENO / window) ** 2)
