from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models import interactive2007 as i
from ackclock.models.pftk98 import expected_window
from ackclock.plot import curves
from ackclock.reproduce.item import Check, Outcome, Setting, item, six_digits, stated

RTO = 1.0
P = np.arange(0.001, 0.3, 0.0005)
RTTS = (0.01, 0.05, 0.1, 0.2)
PEAKS = {
    "correlated": ([1.84261, 1.31350, 1.18567, 1.09947], [0.024, 0.048, 0.062, 0.0775]),
    "random": ([2.84022, 1.82408, 1.54313, 1.33880], [0.049, 0.11, 0.135, 0.218]),
}
"""The register's peaks, and the losses at which they lie, on a grid of 0.0005; b = 1."""
Q = {"correlated": i.correlated_timeouts, "random": i.random_timeouts}


def unrounded(p: np.ndarray) -> np.ndarray:
    """The random Q with windows up to 2 E[w] itself: the window that it reaches into counts in part, so that
    the curve has no steps.
    """
    largest = 2 * expected_window(p, 1.0)
    whole = np.floor(largest).astype(int)
    windows = np.arange(1, whole.max() + 2)
    shares = i.random_timeouts_at(p[:, None], windows)
    weights = np.clip(largest[:, None] - (windows - 1), 0, 1)
    return (shares * weights).sum(1) / largest


def turns(values: np.ndarray) -> int:
    """How often a curve changes between rising and falling."""
    return int((np.diff(np.sign(np.diff(values))) != 0).sum())


@item(
    "I-F4",
    kind="CF",
    title="Gain of a backlogged flow against loss, for several round-trip times",
    choices={
        "round-trip times": f"{', '.join(f'{r * 1e3:g}' for r in RTTS)} ms",
        "packets per ack": "b = 1",
        "Q of random losses": "as I-F3",
        "rises and falls": "with random losses judged without rounding 2 E[w]: with it, as for the peaks, "
        "Q has a step wherever the largest window changes by one; the "
        "figure shows it without",
    },
    points_at=["formula backlogged-gain"],
    tests=["tests/test_models_interactive2007.py::test_means_are_those_of_their_distributions"],
)
def reproduce(setting: Setting) -> Outcome:
    """The curves, their peaks, and that each rises and then falls."""
    checks: list[Check] = []
    figures, tables = {}, {}
    for kind, share in Q.items():
        gains = [i.backlogged_gain(P, share(P), rtt, RTO) for rtt in RTTS]
        smooth = [i.backlogged_gain(P, unrounded(P), rtt, RTO) for rtt in RTTS] if kind == "random" else gains
        bends = [turns(g) for g in smooth]
        peaks, at = [float(g.max()) for g in gains], [float(P[g.argmax()]) for g in gains]
        checks += [
            six_digits(f"{kind} losses: peaks at RTT = 10, 50, 100, 200 ms", peaks, PEAKS[kind][0]),
            six_digits(f"{kind} losses: where they lie", at, PEAKS[kind][1]),
            stated(
                f"{kind} losses: each rises, then falls",
                f"{', '.join(map(str, bends))} turns",
                set(bends) == {1},
                "one turn each",
            ),
            stated(
                f"{kind} losses: with the RTT peaks fall and move right",
                f"{', '.join(f'{g:.3f} at {x:.4g}' for g, x in zip(peaks, at, strict=True))}",
                all(np.diff(peaks) < 0) and all(np.diff(at) >= 0),
            ),
        ]
        tables[kind] = pa.table(
            {"p": P, **{f"gain_{rtt * 1e3:g}ms": g for rtt, g in zip(RTTS, gains, strict=True)}}
        )
        figures[kind] = curves(
            P,
            [(f"RTT {rtt * 1e3:g} ms", g) for rtt, g in zip(RTTS, smooth, strict=True)],
            title=f"How much faster a backlogged flow is, {kind} losses",
            subtitle="Expected latency of the interactive flow over that of the backlogged one; RTO 1 s, "
            "an ack per packet",
            xlabel="loss ratio",
            ylabel="gain",
        )
    notes = [
        '"two to three times" needs a round-trip time of about 10 ms and random losses: at 100 ms the '
        "gain is at most 1.2 (correlated) and 1.5"
    ]
    return Outcome(checks, tables, figures, notes)
