import numpy as np

from ackclock.models.formula import CAPACITY, PACKETS, RTO, Array, floats, formula


@formula(
    "B-E3",
    name="response-time-without-backoff",
    result="r",
    unit="s",
    packets=PACKETS,
    rto=RTO,
    capacity=CAPACITY,
)
def response_time_without_backoff(packets: Array, rto: Array, capacity: Array) -> Array:
    """Response time of each flow at a congested bottleneck when none of them backs off.

    `r_i = L_i RTO_i S/C` with `S = sum 1/RTO_i`; `L_i RTO_i` where `S <= C`.

    packets: L_i, shape (..., flows). rto: seconds, the same shape. capacity: packets/s, shape (...). Returns
    seconds, shape (..., flows). Source: equation (3) of Mondal & Kuzmanovic 2008.
    """
    packets, rto, capacity = floats(packets, rto, capacity)
    overload = np.maximum((1.0 / rto).sum(axis=-1) / capacity, 1.0)
    return packets * rto * overload[..., np.newaxis]
