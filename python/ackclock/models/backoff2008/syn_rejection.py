from ackclock.models.formula import LOSS, Array, Input, floats, formula

_SYNS = Input("count", "SYNs that must be lost in a row", default=3)


@formula("B-E8", name="syn-rejection", result="rejected", unit="ratio", p=LOSS, syns=_SYNS)
def syn_rejection(p: Array, syns: Array = 3) -> Array:
    """Probability that a connection is given up because all of its SYNs were lost.

    `p^N` for independent losses. N is 3 for most systems and 5 for Linux.

    p: ratio. syns: N. Shapes that broadcast. Returns a ratio.
    Source: Mondal & Kuzmanovic 2008 (unnumbered).
    """
    p, syns = floats(p, syns)
    return p**syns
