"""How many flows of one packet a second a link carries (I-F9)."""

from ackclock.models.formula import Array, Input, floats, formula


@formula(
    "I-E16",
    name="flows-sustained",
    result="N",
    unit="flows",
    rate=Input("rate", "rate of the bottleneck"),
    size=Input("size", "bytes that a flow sends for each of its packets, dummies and copies included"),
    interval=Input("time", "mean time between packets of a flow", default=1.0),
)
def flows_sustained(rate: Array, size: Array, interval: Array = 1.0) -> Array:
    """Flows that fill a link, each with so many bytes in an interval.

    `C T/(8 size)`.

    rate: bit/s; size: bytes; interval: seconds; shapes that broadcast. Returns a number of flows.
    Source: derived.
    """
    rate, size, interval = floats(rate, size, interval)
    return rate * interval / (8.0 * size)
