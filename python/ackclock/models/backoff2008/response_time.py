from ackclock.models.formula import LOSS, PACKETS, RTO, Array, floats, formula


@formula("B-E2", name="response-time", result="r", unit="s", packets=PACKETS, rto=RTO, p=LOSS)
def response_time(packets: Array, rto: Array, p: Array) -> Array:
    """Response time of a flow that sends one packet per timeout and loses each with probability p.

    `r_i = L_i RTO_i/(1 - p)`.

    packets: L_i, shape (..., flows). rto: seconds, the same shape. p: ratio below 1, broadcast against them.
    Returns seconds. Source: equation (2) of Mondal & Kuzmanovic 2008.
    """
    packets, rto, p = floats(packets, rto, p)
    return packets * rto / (1.0 - p)
