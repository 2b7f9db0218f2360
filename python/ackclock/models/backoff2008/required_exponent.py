import numpy as np

from ackclock.models.formula import CAPACITY, RTO, Array, floats, formula


@formula("B-E5", name="required-exponent", result="k", unit="", over_flows=True, rto=RTO, capacity=CAPACITY)
def required_exponent(rto: Array, capacity: Array) -> Array:
    """Smallest backoff exponent that brings the load of all flows down to the capacity.

    `k >= log2(S/C)` with `S = sum 1/RTO_i`, zero where `S <= C`. A real number: a protocol that doubles needs
    its ceiling.

    rto: seconds, shape (..., flows). capacity: packets/s, shape (...). Returns k, shape (...).
    Source: equation (5) of Mondal & Kuzmanovic 2008.
    """
    rto, capacity = floats(rto, capacity)
    return np.log2((1.0 / rto).sum(axis=-1) / capacity).clip(min=0.0)
