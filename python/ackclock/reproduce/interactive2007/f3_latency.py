from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models import interactive2007 as i
from ackclock.models.pftk98 import expected_window
from ackclock.plot import curves
from ackclock.reproduce.item import Outcome, Setting, item, stated

RTT, RTO = 0.1, 1.0
P = np.geomspace(0.001, 0.2, 400)


def largest_agreeing(b: float) -> float:
    """The largest loss up to which equation (8), with wmax twice the mean window, lies below the correlated
    Q.
    """
    p = np.arange(0.001, 0.3, 0.0005)
    below = i.random_timeouts_loose(p, 2 * expected_window(p, b)) < i.correlated_timeouts(p, b)
    return float(p[np.argmin(below) - 1]) if not below.all() else float(p[-1])


@item(
    "I-F3",
    kind="CF",
    title="Expected latency against loss: interactive and backlogged flows",
    choices={
        "RTT": f"{RTT:g} s; RTO {RTO:g} s as in the paper",
        "packets per ack": "b = 1 in the figure; the checks hold b = 2 too",
        "Q of random losses": "the exact binomial share of I-E7, averaged over windows from 1 to round(2 "
        "E[w])",
    },
    points_at=[
        "formula interactive-latency",
        "formula backlogged-latency",
        "formula correlated-timeouts",
        "formula random-timeouts",
    ],
    tests=["tests/test_models_interactive2007.py::test_means_are_those_of_their_distributions"],
)
def reproduce(setting: Setting) -> Outcome:
    """The three curves, their order, and the order with the printed equation (8)."""
    alone = i.interactive_latency(P, RTT, RTO)
    checks, notes, tables = [], [], {}
    for b in (1.0, 2.0):
        correlated, random = (
            i.backlogged_latency(P, q(P, b), RTT, RTO) for q in (i.correlated_timeouts, i.random_timeouts)
        )
        tables[b] = pa.table({"p": P, "interactive": alone, "correlated": correlated, "random": random})
        for name, above, below in (
            ("interactive > correlated", alone, correlated),
            ("correlated > random", correlated, random),
        ):
            kept = int((above > below).sum())
            checks.append(
                stated(
                    f"{name}, b = {b:g}, p = 0.001 to 0.2",
                    f"at {kept} of {P.size} losses",
                    kept == P.size,
                    "everywhere",
                )
            )
        notes.append(
            "with equation (8) and wmax = 2 E[w] random losses cost less than correlated ones only up "
            f"to p = {largest_agreeing(b):.4f} (b = {b:g}): it is a loose bound, and the paper's "
            "statement does not follow from it"
        )
    one = tables[1.0]
    figure = curves(
        P,
        [
            ("interactive", one["interactive"].to_numpy()),
            ("backlogged, correlated losses", one["correlated"].to_numpy()),
            ("backlogged, random losses", one["random"].to_numpy()),
        ],
        title="What a loss costs a flow that sends one packet at a time",
        subtitle=f"Mean time from a packet to its ack; RTT {RTT:g} s, RTO {RTO:g} s, an ack per packet",
        xlabel="loss ratio",
        ylabel="expected latency (s)",
        log=True,
    )
    return Outcome(checks, {f"b{b:g}": t for b, t in tables.items()}, {"latency": figure}, notes)
