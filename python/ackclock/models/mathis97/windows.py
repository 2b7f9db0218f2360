"""Windows after recovery, after slow-start and over a modem: M-E15 to M-E17."""

import numpy as np

from ackclock.models.formula import Array, Input, floats, formula
from ackclock.models.mathis97.bandwidth import SIGNALS, average_window

ONE = Input("number", "C of the model `mathis`", default=1.0)


@formula(
    "M-E15",
    name="rate-halving-window",
    result="W",
    unit="packets",
    cwnd=Input("packets", "packets in flight when recovery begins"),
    loss=Input("number", "how many of them are lost", default=1.0),
)
def rate_halving_window(cwnd: Array, loss: Array = 1.0) -> Array:
    """Window that a round trip of rate-halving leaves: one packet for each two that arrive.

    floor((cwnd - loss)/2). Whether the paper's brackets round cannot be read; they are taken to.

    cwnd, loss: packets, shapes that broadcast. Returns packets.
    Source: equation (15) of Mathis, Semke, Mahdavi & Ott 1997.
    """
    cwnd, loss = floats(cwnd, loss)
    return np.floor((cwnd - loss) / 2.0)


@formula("M-E16", name="overshoot-signals", result="signals", unit="", p=SIGNALS, c=ONE)
def overshoot_signals(p: Array, c: Array = 1.0) -> Array:
    """Congestion signals until the window that slow-start left has come down to the average one.

    log2((1/p)/(C/sqrt(p))): slow-start without delayed acks leaves a window of 1/p, each signal halves it.

    p: a ratio; c: a number. Shapes that broadcast. Returns a number.
    Source: appendix B of Mathis, Semke, Mahdavi & Ott 1997 (unnumbered).
    """
    p, c = floats(p, c)
    return np.log2(overshoot_factor(p, c))


@formula("M-E16", name="overshoot-packets", result="packets", unit="packets", p=SIGNALS, c=ONE)
def overshoot_packets(p: Array, c: Array = 1.0) -> Array:
    """Packets until the window that slow-start left has come down to the average one.

    (1/p) log2(1/(C sqrt(p))).

    p: a ratio; c: a number. Shapes that broadcast. Returns packets.
    Source: appendix B of Mathis, Semke, Mahdavi & Ott 1997 (unnumbered).
    """
    p, c = floats(p, c)
    return overshoot_signals(p, c) / p


@formula("M-E16", name="overshoot-factor", result="factor", unit="", p=SIGNALS, c=ONE)
def overshoot_factor(p: Array, c: Array = 1.0) -> Array:
    """Window that slow-start leaves, over the average one.

    (1/p)/(C/sqrt(p)) = 1/(C sqrt(p)).

    p: a ratio; c: a number. Shapes that broadcast. Returns a factor.
    Source: appendix B of Mathis, Semke, Mahdavi & Ott 1997 (unnumbered).
    """
    p, c = floats(p, c)
    return 1.0 / p / average_window(p, c)


@formula(
    "M-E17",
    name="filled-window",
    result="W",
    unit="packets",
    queue=Input("packets", "packets that the queue holds"),
    rtt=Input("time", "round-trip time while the queue is empty"),
    packet_time=Input("time", "time that the slowest line takes for a packet"),
)
def filled_window(queue: Array, rtt: Array, packet_time: Array) -> Array:
    """Window that fills a path and the queue before its slowest line: the peak, if no packet is lost
    elsewhere.

    queue + RTT/t.

    queue: packets; rtt, packet_time: seconds. Shapes that broadcast. Returns packets.
    Source: Mathis, Semke, Mahdavi & Ott 1997 (unnumbered).
    """
    queue, rtt, packet_time = floats(queue, rtt, packet_time)
    return queue + rtt / packet_time


@formula(
    "M-E17",
    name="transfer-time",
    result="T",
    unit="s",
    size=Input("size", "what is transferred"),
    rate=Input("rate", "rate of the transfer"),
)
def transfer_time(size: Array, rate: Array) -> Array:
    """Time that a transfer takes at a rate.

    size/rate.

    size: bytes; rate: bit/s. Shapes that broadcast. Returns seconds.
    Source: Mathis, Semke, Mahdavi & Ott 1997 (unnumbered).
    """
    size, rate = floats(size, rate)
    return 8.0 * size / rate
