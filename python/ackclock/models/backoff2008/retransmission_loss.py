from ackclock.models.formula import CAPACITY, RTO, Array, floats, formula


@formula(
    "B-E1", name="retransmission-loss", result="p", unit="ratio", over_flows=True, rto=RTO, capacity=CAPACITY
)
def retransmission_loss(rto: Array, capacity: Array) -> Array:
    """Loss ratio when every flow sends one packet per timeout into a congested bottleneck.

    `p = (S - C)/S` with `S = sum 1/RTO_i`, zero where `S <= C` (nothing is congested then).

    rto: seconds, shape (..., flows). capacity: packets/s, shape (...). Returns a ratio, shape (...).
    Source: equation (1) of Mondal & Kuzmanovic 2008.
    """
    rto, capacity = floats(rto, capacity)
    offered = (1.0 / rto).sum(axis=-1)
    return (offered - capacity).clip(min=0.0) / offered
