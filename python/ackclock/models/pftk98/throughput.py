"""Rate of a long TCP Reno transfer, timeouts and the receiver's window included.

Losses come in bursts: once a packet is lost, so is the rest of its round trip. p is the share of packets at
which such a burst begins.
"""

import math

import numpy as np

from ackclock.models.formula import Array, Input, floats, formula

P = Input("ratio", "loss indications per packet sent")
RTT = Input("time", "round-trip time")
RTO = Input("time", "first timeout, T0", default=1.0)
MSS = Input("size", "segment size", default=1460.0)
B = Input("number", "packets per ack: 2 with delayed acks", default=2.0)
WMAX = Input("limit", "largest window that the receiver allows, packets", default=math.inf)
W = Input("packets", "window at the loss, packets")


@formula("PFTK", name="pftk", result="B", unit="bit/s", p=P, rtt=RTT, rto=RTO, mss=MSS, b=B, wmax=WMAX)
def send_rate(
    p: Array, rtt: Array, rto: Array = 1.0, mss: Array = 1460.0, b: Array = 2.0, wmax: Array = math.inf
) -> Array:
    """Rate at which a long Reno transfer sends: the full model.

    ((1-p)/p + W + Q/(1-p)) / (RTT (X + 1) + Q T0 G/(1-p)) packets/s, with W the smaller of E[W] and Wmax, Q =
    Q(p, W) and G = G(p). The round trips X up to a loss are b W/2, or b Wmax/8 + (1-p)/(p Wmax) + 1 where the
    receiver's window stops the growth.

    p: a ratio; rtt, rto: seconds; mss: bytes; b: a number; wmax: packets. Shapes that broadcast. Returns
    bit/s. Source: PFTK, the full model of Padhye, Firoiu, Towsley & Kurose 1998.
    """
    p, rtt, rto, mss, b, wmax = floats(p, rtt, rto, mss, b, wmax)
    window, q = _window_and_timeouts(p, b, wmax)
    # Packets sent and time taken from loss to loss, both times p, so that a path without loss gives Wmax/RTT.
    packets = 1.0 - p + p * (window + q / (1.0 - p))
    return 8.0 * mss * packets / _time(p, rtt, rto, b, wmax, window, q)


@formula(
    "PFTK", name="pftk-throughput", result="T", unit="bit/s", p=P, rtt=RTT, rto=RTO, mss=MSS, b=B, wmax=WMAX
)
def throughput(
    p: Array, rtt: Array, rto: Array = 1.0, mss: Array = 1460.0, b: Array = 2.0, wmax: Array = math.inf
) -> Array:
    """Rate at which packets of a long Reno transfer arrive: `pftk` without those that are lost.

    ((1-p)/p + W/2 + Q) / (RTT (X + 1) + Q T0 G/(1-p)) packets/s: half of the last window is lost, and one
    packet of each run of timeouts arrives.

    p: a ratio; rtt, rto: seconds; mss: bytes; b: a number; wmax: packets. Shapes that broadcast. Returns
    bit/s. Source: PFTK, the throughput of Padhye, Firoiu, Towsley & Kurose (journal version, 2000); equation
    (22) of Cardwell, Savage & Anderson 2000.
    """
    p, rtt, rto, mss, b, wmax = floats(p, rtt, rto, mss, b, wmax)
    window, q = _window_and_timeouts(p, b, wmax)
    packets = 1.0 - p + p * (window / 2.0 + q)
    return 8.0 * mss * packets / _time(p, rtt, rto, b, wmax, window, q)


@formula(
    "PFTK", name="pftk-approximate", result="B", unit="bit/s", p=P, rtt=RTT, rto=RTO, mss=MSS, b=B, wmax=WMAX
)
def approximate_rate(
    p: Array, rtt: Array, rto: Array = 1.0, mss: Array = 1460.0, b: Array = 2.0, wmax: Array = math.inf
) -> Array:
    """Rate at which a long Reno transfer sends: the approximate model, which TFRC uses.

    min(Wmax/RTT, 1/(RTT sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2))) packets/s. RFC 5348, section
    3.1, leaves both minima out.

    p: a ratio; rtt, rto: seconds; mss: bytes; b: a number; wmax: packets. Shapes that broadcast. Returns
    bit/s. Source: PFTK, the approximate model of Padhye, Firoiu, Towsley & Kurose 1998.
    """
    p, rtt, rto, mss, b, wmax = floats(p, rtt, rto, mss, b, wmax)
    timeouts = rto * np.minimum(1.0, 3.0 * np.sqrt(3.0 * b * p / 8.0)) * p * (1.0 + 32.0 * p**2)
    with np.errstate(divide="ignore"):
        unlimited = 1.0 / (rtt * np.sqrt(2.0 * b * p / 3.0) + timeouts)
    return 8.0 * mss * np.minimum(wmax / rtt, unlimited)


@formula("PFTK", name="pftk-window", result="W", unit="packets", p=P, b=B)
def expected_window(p: Array, b: Array = 2.0) -> Array:
    """Window at which the loss comes, on average, where nothing limits it.

    (2+b)/(3b) + sqrt(8(1-p)/(3bp) + ((2+b)/(3b))^2).

    p: a ratio; b: a number. Shapes that broadcast. Returns packets.
    Source: PFTK, E[W] of Padhye, Firoiu, Towsley & Kurose 1998.
    """
    p, b = floats(p, b)
    half = (2.0 + b) / (3.0 * b)
    with np.errstate(divide="ignore"):
        return half + np.sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + half**2)


@formula("PFTK", name="pftk-timeouts", result="Q", unit="ratio", p=P, w=W)
def timeout_share(p: Array, w: Array) -> Array:
    """Share of the loss indications at a window that are timeouts.

    min(1, (1-(1-p)^3)(1 + (1-p)^3 (1-(1-p)^(w-3)))/(1-(1-p)^w)), about 3/w; 1 below a window of 3.

    p: a ratio; w: packets. Shapes that broadcast. Returns a share. Source: PFTK, Q of Padhye, Firoiu, Towsley
    & Kurose 1998; equation (17) of Cardwell, Savage & Anderson 2000.
    """
    p, w = np.broadcast_arrays(*floats(p, w))
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log1p(-p)
        three, rest, whole = -np.expm1(3.0 * log), -np.expm1((w - 3.0) * log), -np.expm1(w * log)
        share = np.minimum(1.0, three * (1.0 + (1.0 - three) * rest) / whole)
        return np.where(w <= 3.0, 1.0, np.where(p == 0.0, 3.0 / w, share))


@formula("PFTK", name="pftk-backoff", result="G", unit="", p=P)
def backoff_factor(p: Array) -> Array:
    """Factor by which backoff lengthens a run of timeouts, which lasts T0 G/(1-p) on average.

    1 + p + 2p^2 + 4p^3 + 8p^4 + 16p^5 + 32p^6: timeouts double up to 64 T0.

    p: a ratio, any shape. Returns a factor. Source: PFTK, f(p) of Padhye, Firoiu, Towsley & Kurose 1998;
    G(p), equation (19) of Cardwell, Savage & Anderson 2000.
    """
    (p,) = floats(p)
    return 1.0 + p * (1.0 + 2.0 * p * (1.0 + 2.0 * p * (1.0 + 2.0 * p * (1.0 + 2.0 * p * (1.0 + 2.0 * p)))))


def _window_and_timeouts(p: Array, b: Array, wmax: Array) -> tuple[Array, Array]:
    """Window at which the loss comes, and the share of timeouts there."""
    window = np.minimum(expected_window(p, b), wmax)
    return window, timeout_share(p, window)


def _time(p: Array, rtt: Array, rto: Array, b: Array, wmax: Array, window: Array, q: Array) -> Array:
    """Time from loss to loss, times p: round trips, and the timeouts' share."""
    with np.errstate(divide="ignore", invalid="ignore"):
        limited = p * (b / 8.0 * wmax + 2.0) + (1.0 - p) / wmax
        rounds = np.where(window < wmax, p * (b / 2.0 * window + 1.0), limited)
        return rtt * rounds + p * q * rto * backoff_factor(p) / (1.0 - p)
