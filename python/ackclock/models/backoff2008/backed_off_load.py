import numpy as np

from ackclock.models.formula import EXPONENT, RTO, Array, floats, formula


@formula(
    "B-E4", name="backed-off-load", result="load", unit="packets/s", over_flows=True, rto=RTO, k=EXPONENT
)
def backed_off_load(rto: Array, k: Array) -> Array:
    """Packets per second that all flows together offer after backing off k times.

    `sum 1/(2^k RTO_i)`, which must not exceed the capacity C for the backoff to have ended the congestion.

    rto: seconds, shape (..., flows). k: real or whole, shape (...). Returns packets/s, shape (...).
    Source: equation (4) of Mondal & Kuzmanovic 2008.
    """
    rto, k = floats(rto, k)
    return (1.0 / rto).sum(axis=-1) / np.exp2(k)
