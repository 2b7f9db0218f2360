import numpy as np

from ackclock.models.formula import EXPONENT, PACKETS, RTO, Array, floats, formula


@formula(
    "B-E6", name="response-time-with-backoff", result="r'", unit="s", packets=PACKETS, rto=RTO, k=EXPONENT
)
def response_time_with_backoff(packets: Array, rto: Array, k: Array) -> Array:
    """Response time of each flow when all of them have backed off k times and nothing is lost any more.

    `r'_i = L_i 2^k RTO_i`. With the k of equation (5) it is never below equation (3), and equal to it for a
    real k: theorem 2.1.

    packets: L_i, shape (..., flows). rto: seconds, the same shape. k: broadcast against them. Returns
    seconds. Source: equation (6) of Mondal & Kuzmanovic 2008.
    """
    packets, rto, k = floats(packets, rto, k)
    return packets * np.exp2(k) * rto
