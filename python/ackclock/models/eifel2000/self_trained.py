"""The self-trained timeout, E-E14 to E-E16, and the testbed's arithmetic, E-E17."""

import numpy as np

from ackclock.models.formula import Array, Input, floats, formula

AGG = Input("ratio", "AGG, the factor before")


@formula(
    "E-E14",
    name="cycle-length",
    result="CYCLE",
    unit="segments",
    max_cwnd=Input("packets", "largest window of a cycle, segments"),
)
def cycle_length(max_cwnd: Array) -> Array:
    """Segments in a cycle of the window, from half of the largest to all of it.

    `CYCLE = 3/8 MAXCWND^2`.

    max_cwnd: segments, any shape. Returns segments.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    (max_cwnd,) = floats(max_cwnd)
    return 0.375 * max_cwnd**2


@formula(
    "E-E15",
    name="agg-decay",
    result="AGG",
    unit="",
    agg=AGG,
    k=Input("ratio", "part by which the factor falls in a cycle", default=0.05),
    cycle=Input("packets", "CYCLE, as `cycle-length` gives it, segments"),
    samples=Input("count", "valid samples", default=1),
)
def agg_decay(agg: Array, k: Array, cycle: Array, samples: Array = 1) -> Array:
    """Aggressiveness after some valid samples without a spurious timeout.

    `AGG (1 - k/CYCLE)` for each sample.

    agg, k: ratios; cycle: segments; samples: whole. Shapes that broadcast. Returns a ratio.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    agg, k, cycle, samples = floats(agg, k, cycle, samples)
    return agg * (1.0 - k / cycle) ** samples


@formula("E-E15", name="agg-rise", result="AGG", unit="", agg=AGG)
def agg_rise(agg: Array) -> Array:
    """Aggressiveness after a spurious timeout.

    `min(AGG + (1 - AGG)/2, 1)`.

    agg: a ratio, any shape. Returns a ratio.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    (agg,) = floats(agg)
    return np.minimum(agg + (1.0 - agg) / 2.0, 1.0)


@formula("E-E16", name="rto-agg", result="RTO_AGG", unit="s", agg=AGG, rto=Input("span", "RTO_E"))
def rto_agg(agg: Array, rto: Array) -> Array:
    """The self-trained timeout.

    `AGG RTO_E`.

    agg: a ratio; rto: seconds. Shapes that broadcast. Returns seconds.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    agg, rto = floats(agg, rto)
    return agg * rto


@formula(
    "E-E17",
    name="serial-time",
    result="time",
    unit="s",
    packets=Input("packets", "packets sent"),
    size=Input("size", "size of each"),
    line=Input("rate", "rate of the line"),
    bits=Input("count", "bits of the line for each byte", default=10),
)
def serial_time(packets: Array, size: Array, line: Array, bits: Array = 10) -> Array:
    """Time that packets take on a serial line.

    `packets size bits/line`. Ten bits for a byte are those of an asynchronous line: 240 bytes/s at 2.4
    kbit/s.

    packets: number; size: bytes; line: bit/s; bits: number. Shapes that broadcast. Returns seconds.
    Source: Ludwig & Sklower 2000 (arithmetic of the testbed).
    """
    packets, size, line, bits = floats(packets, size, line, bits)
    return packets * size * bits / line
