"""TCP Smart Framing of an interactive sender: one packet as four small ones, of which any lost makes it wait
(I-A8, I-F11).
"""

from ackclock.models.formula import LOSS, Array, Input, floats, formula

PS = Input("ratio", "share of small segments lost")


@formula("I-E15", name="framed-success", result="p(S,S)", unit="ratio", ps=PS)
def framed_success(ps: Array) -> Array:
    """Chance that all four small segments arrive.

    `(1-ps)^4`.

    ps: a ratio, any shape. Returns a ratio.
    Source: transitions of Smart Framing in Mondal & Kuzmanovic 2007.
    """
    (ps,) = floats(ps)
    return (1.0 - ps) ** 4


@formula("I-E15", name="framed-recovery", result="p(S,FR)", unit="ratio", ps=PS)
def framed_recovery(ps: Array) -> Array:
    """Chance that three duplicate acks report a lost small segment: the first of four is lost, the others
    arrive.

    `ps (1-ps)^3`.

    ps: a ratio, any shape. Returns a ratio.
    Source: transitions of Smart Framing in Mondal & Kuzmanovic 2007.
    """
    (ps,) = floats(ps)
    return ps * (1.0 - ps) ** 3


@formula("I-E15", name="framed-timeout", result="p(S,TO)", unit="ratio", ps=PS)
def framed_timeout(ps: Array) -> Array:
    """Chance of a timeout for a packet sent as four small segments: whatever is neither success nor fast
    recovery.

    `1 - ps (1-ps)^3 - (1-ps)^4 = 1 - (1-ps)^3`. Plain TCP has p.

    ps: a ratio, any shape. Returns a ratio.
    Source: transitions of Smart Framing in Mondal & Kuzmanovic 2007.
    """
    return 1.0 - framed_recovery(ps) - framed_success(ps)


@formula("I-E15", name="break-even-loss", result="ps", unit="ratio", p=LOSS)
def break_even_loss(p: Array) -> Array:
    """Loss of small segments at which Smart Framing has as many timeouts as plain TCP: about a third.

    `1 - (1-p)^(1/3)`.

    p: a ratio, any shape. Returns a ratio.
    Source: derived.
    """
    (p,) = floats(p)
    return 1.0 - (1.0 - p) ** (1.0 / 3.0)
