"""Load and queues: J-E2, J-E10, J-E14."""

from ackclock.models.formula import Array, Input, floats, formula


@formula(
    "J-E2", name="load-spread", result="spread", unit="", rho=Input("ratio", "arrival rate over service rate")
)
def load_spread(rho: Array) -> Array:
    """Factor by which the round-trip time varies at a load, from two standard deviations below to two above.

    (1 - rho)^-2, which gives both of the paper's numbers, although the text has (1 - rho)^-1.

    rho: a ratio below 1, any shape. Returns a factor.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    (rho,) = floats(rho)
    return (1.0 - rho) ** -2.0


@formula(
    "J-E2",
    name="load-limit",
    result="rho",
    unit="ratio",
    beta=Input("number", "timeout in smoothed round-trip times", default=2.0),
)
def load_limit(beta: Array = 2.0) -> Array:
    """Largest load that a timer of beta round-trip times copes with.

    1 - beta^(-1/2), where the spread is beta.

    beta: a number, any shape. Returns a ratio.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    (beta,) = floats(beta)
    return 1.0 - beta**-0.5


@formula(
    "J-E10",
    name="congested-load",
    result="L",
    unit="",
    gamma=Input("number", "part of an interval's load that comes again in the next"),
    load=Input("number", "load at first", default=1.0),
    n=Input("count", "intervals", default=1),
)
def congested_load(gamma: Array, load: Array = 1.0, n: Array = 1) -> Array:
    """Load of a congested network after some intervals, fresh traffic neglected.

    gamma^n L_0, unstable for gamma above 1.

    gamma, load: numbers; n: whole. Shapes that broadcast. Returns a load.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    gamma, load, n = floats(gamma, load, n)
    return gamma**n * load


@formula("J-E14", name="queue-clearing", result="factor", unit="", rho=Input("ratio", "load"))
def queue_clearing(rho: Array) -> Array:
    """Factor by which the time to clear a queue grows with the load.

    (1 - rho)^-2.

    rho: a ratio below 1, any shape. Returns a factor.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    (rho,) = floats(rho)
    return (1.0 - rho) ** -2.0
