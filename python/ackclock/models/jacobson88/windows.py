"""Windows and loss: J-E1, J-E8, J-E9, J-E11 to J-E13, J-E15, J-E16, J-E19, J-E20."""

import numpy as np

from ackclock._core import InputError
from ackclock.models.formula import Array, Input, floats, formula

MOST_ACKS = 1_000_000


@formula(
    "J-E1",
    name="slow-start-time",
    result="T",
    unit="s",
    rtt=Input("time", "round-trip time"),
    window=Input("packets", "window to open to, packets"),
)
def slow_start_time(rtt: Array, window: Array) -> Array:
    """Time that slow-start takes to open a window.

    T = R log2(W).

    rtt: seconds; window: packets. Shapes that broadcast. Returns seconds.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    rtt, window = floats(rtt, window)
    return rtt * np.log2(window)


@formula(
    "J-E8",
    name="damage-goodput",
    result="f",
    unit="",
    p=Input("ratio", "damage-loss probability"),
    window=Input("packets", "window, packets"),
)
def damage_goodput(p: Array, window: Array) -> Array:
    """Share of the throughput that damage loss leaves to a TCP with the timer of RFC 793.

    1/(1 + 2 p w).

    p: a ratio; window: packets. Shapes that broadcast. Returns a ratio.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    p, window = floats(p, window)
    return 1.0 / (1.0 + 2.0 * p * window)


@formula(
    "J-E9",
    name="regain-packets",
    result="packets",
    unit="packets",
    window=Input("packets", "window before, packets"),
)
def regain_packets(window: Array) -> Array:
    """Packets until a halved window is back, as the paper counts.

    w^2/3. A linear climb takes 3 w^2/8: see regain-packets-exact.

    window: packets, any shape. Returns packets.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    (window,) = floats(window)
    return window**2 / 3.0


@formula("J-E9", name="loss-threshold", result="p*", unit="ratio", window=Input("packets", "window, packets"))
def loss_threshold(window: Array) -> Array:
    """Loss above which a window cannot be regained, as the paper counts.

    3/w^2.

    window: packets, any shape. Returns a ratio.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    (window,) = floats(window)
    return 3.0 / window**2


@formula(
    "J-E9",
    name="regain-packets-exact",
    result="packets",
    unit="packets",
    window=Input("packets", "window before, packets"),
)
def regain_packets_exact(window: Array) -> Array:
    """Packets until a halved window is back, in a linear climb.

    3 w^2/8.

    window: packets, any shape. Returns packets.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    (window,) = floats(window)
    return 0.375 * window**2


@formula(
    "J-E9", name="loss-threshold-exact", result="p*", unit="ratio", window=Input("packets", "window, packets")
)
def loss_threshold_exact(window: Array) -> Array:
    """Loss above which a window cannot be regained, in a linear climb.

    8/(3 w^2).

    window: packets, any shape. Returns a ratio.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    (window,) = floats(window)
    return 8.0 / (3.0 * window**2)


@formula(
    "J-E11",
    name="decreased-window",
    result="W",
    unit="packets",
    window=Input("packets", "window before, packets"),
    d=Input("ratio", "factor; 7/8 in the DECbit scheme", default=0.5),
    n=Input("count", "decreases", default=1),
)
def decreased_window(window: Array, d: Array = 0.5, n: Array = 1) -> Array:
    """Window after some decreases.

    d^n W.

    window: packets; d: a ratio; n: whole. Shapes that broadcast. Returns packets.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    window, d, n = floats(window, d, n)
    return window * d**n


@formula(
    "J-E12",
    name="increase-rounds",
    result="rounds",
    unit="round trips",
    start=Input("packets", "window at first, packets"),
    end=Input("packets", "window to reach, packets"),
    u=Input("number", "packets added in each round trip", default=1.0),
)
def increase_rounds(start: Array, end: Array, u: Array = 1.0) -> Array:
    """Round trips that additive increase takes between two windows.

    (W_end - W_start)/u.

    start, end: packets; u: packets. Shapes that broadcast. Returns round trips.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    start, end, u = floats(start, end, u)
    return (end - start) / u


@formula(
    "J-E15",
    name="rate-interval",
    result="I",
    unit="s",
    interval=Input("time", "interval at first"),
    alpha=Input("time", "packets sent for each packet/s more"),
    n=Input("count", "packets sent", default=1),
)
def rate_interval(interval: Array, alpha: Array, n: Array = 1) -> Array:
    """Interval between packets of a source that increases its rate linearly.

    1/I_n = 1/I_0 + n/alpha.

    interval, alpha: seconds; n: whole. Shapes that broadcast. Returns seconds.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    interval, alpha, n = floats(interval, alpha, n)
    return 1.0 / (1.0 / interval + n / alpha)


@formula(
    "J-E15",
    name="rate-interval-wrong",
    result="I",
    unit="s",
    interval=Input("time", "interval at first"),
    c=Input("time", "taken off at each packet"),
    n=Input("count", "packets sent", default=1),
)
def rate_interval_wrong(interval: Array, c: Array, n: Array = 1) -> Array:
    """Interval between packets where a constant is taken off: the wrong policy, whose rate grows without
    bound.

    I_0 - n c, zero at last.

    interval, c: seconds; n: whole. Shapes that broadcast. Returns seconds.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    interval, c, n = floats(interval, c, n)
    return np.maximum(interval - n * c, 0.0)


@formula(
    "J-E16",
    name="increment-delay",
    result="dR",
    unit="s",
    increment=Input("size", "growth of the window"),
    line=Input("rate", "bandwidth of the path"),
    bits=Input("count", "bits of the line for each byte; 10 on an asynchronous one", default=8),
)
def increment_delay(increment: Array, line: Array, bits: Array = 8) -> Array:
    """Growth of the round-trip time that a window increment causes on a path that bandwidth dominates.

    dw/b.

    increment: bytes; line: bit/s; bits: whole. Shapes that broadcast. Returns seconds.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    increment, line, bits = floats(increment, line, bits)
    return increment * bits / line


@formula(
    "J-E19",
    name="packet-spacing",
    result="spacing",
    unit="s",
    size=Input("size", "packet with its headers"),
    line=Input("rate", "rate of the bottleneck"),
)
def packet_spacing(size: Array, line: Array) -> Array:
    """Spacing of packets behind the bottleneck, of their acks at the receiver, and of those at the sender.

    size/line.

    size: bytes; line: bit/s. Shapes that broadcast. Returns seconds.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    size, line = floats(size, line)
    return size * 8.0 / line


@formula(
    "J-E20",
    name="standing-queue",
    result="queue",
    unit="packets",
    window=Input("packets", "window, packets"),
    pipe=Input("packets", "packets that the path holds"),
)
def standing_queue(window: Array, pipe: Array) -> Array:
    """Queue that a window beyond the pipe leaves standing.

    max(window - pipe, 0).

    window, pipe: packets, shapes that broadcast. Returns packets.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    window, pipe = floats(window, pipe)
    return np.maximum(window - pipe, 0.0)


@formula(
    "J-E13",
    name="avoidance-window",
    result="W",
    unit="packets",
    cwnd=Input("packets", "window before, packets"),
    acks=Input("count", "acks", default=1),
)
def avoidance_window(cwnd: Array, acks: Array = 1) -> Array:
    """Window after some acks of congestion avoidance, one increment for each ack.

    `cwnd += 1/cwnd` packets; in bytes `maxseg^2/cwnd`, which is the same window in segments.

    cwnd: packets; acks: whole, at most a million. Shapes that broadcast. Returns packets.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    cwnd, acks = np.broadcast_arrays(*floats(cwnd, acks))
    if acks.size and not acks.max() <= MOST_ACKS:
        raise InputError(f"`acks` is {acks.max():g}; give at most {MOST_ACKS}")
    window = np.array(cwnd)
    for done in range(int(acks.max(initial=0))):
        window = np.where(done < acks, window + 1.0 / window, window)
    return window
