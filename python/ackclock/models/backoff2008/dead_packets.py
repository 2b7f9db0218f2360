from ackclock.models.formula import Array, Input, floats, formula

_SHARE = Input("ratio", "L0/(L0 + L1): share of the first bottleneck's load that goes on to the second")


@formula(
    "B-E7",
    name="dead-packets",
    result="alpha",
    unit="ratio",
    share=_SHARE,
    p1=Input("ratio", "loss ratio of the first bottleneck"),
    p2=Input("ratio", "loss ratio of the second bottleneck"),
)
def dead_packets(share: Array, p1: Array, p2: Array) -> Array:
    """Share of the first bottleneck's capacity taken by packets that the second one drops later.

    `alpha = L0/(L0 + L1) (1 - p1) p2`.

    share, p1, p2: ratios of shapes that broadcast. Returns a ratio.
    Source: equation (7) of Mondal & Kuzmanovic 2008.
    """
    share, p1, p2 = floats(share, p1, p2)
    return share * (1.0 - p1) * p2
