from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models import interactive2007 as i
from ackclock.plot import curves
from ackclock.reproduce.item import Check, Outcome, Setting, item, six_digits, stated, within

RTT, RTO, LESS = 0.1, 1.0, 0.5
P = np.arange(0.001, 0.3, 0.0005)
Q = {"correlated": i.correlated_timeouts, "random": i.random_timeouts}
CROSSOVERS = {("correlated", 1): 0.036, ("correlated", 2): 0.023, ("random", 1): 0.155, ("random", 2): 0.097}
"""Loss up to which a smaller minimum RTO leaves the interactive flow slower than a backlogged one: kind of
loss, packets per ack.
"""
SHOWN = np.array([0.01, 0.05, 0.1])
POINTS = {
    "I": [0.105102, 0.127778, 0.162500],
    "backlogged, correlated": [0.103018, 0.131628, 0.193495],
    "backlogged, random": [0.101890, 0.117208, 0.150972],
    "II": [0.101372, 0.114592, 0.150278],
    "III": [0.100102, 0.102778, 0.112500],
}
"""Seconds at the losses SHOWN, b = 1."""


def latencies(p: np.ndarray, b: float = 1.0) -> dict[str, np.ndarray]:
    """Expected latencies (s) of the five flows."""
    return {
        "I": i.interactive_latency(p, RTT, LESS),
        **{
            f"backlogged, {kind}": i.backlogged_latency(p, share(p, b), RTT, RTO) for kind, share in Q.items()
        },
        "II": i.padded_latency(p, RTT, RTO),
        "III": i.diversity_latency(p, RTT, RTO),
    }


def below(name: str, lower: np.ndarray, upper: np.ndarray, p: np.ndarray, upto: str) -> Check:
    """That one curve lies below another one."""
    kept = int((lower < upper).sum())
    return stated(f"{name}, p up to {upto}", f"at {kept} of {p.size} losses", kept == p.size, "everywhere")


@item(
    "I-F7",
    kind="CF",
    title="Latency of the three approaches against the backlogged flow",
    choices={
        "RTT": f"{RTT:g} s; RTO {RTO:g} s, {LESS:g} s for approach I",
        "padding, diversity": "three dummies (m = 4), two copies (k = 2)",
        "Q of random losses": "as I-F3",
    },
    points_at=[
        "formula padded-latency",
        "formula diversity-latency",
        "formula interactive-latency",
        "formula backlogged-latency",
    ],
    tests=["tests/test_models_interactive2007.py::test_three_dummies_are_a_window_of_four"],
)
def reproduce(setting: Setting) -> Outcome:
    """The curves, reference points, their order, and where approach I stops being the slower one."""
    at = latencies(SHOWN)
    checks: list[Check] = [
        six_digits(f"{name}: E (s) at p = 0.01, 0.05, 0.1", at[name], points)
        for name, points in POINTS.items()
    ]
    found = latencies(P)
    checks += [
        below("III below II", found["III"], found["II"], P, "0.3"),
        below(
            "II below backlogged, correlated losses", found["II"], found["backlogged, correlated"], P, "0.3"
        ),
    ]
    upto = P <= 0.1 + 1e-9
    checks.append(
        below(
            "II below backlogged, random losses",
            found["II"][upto],
            found["backlogged, random"][upto],
            P[upto],
            "0.10",
        )
    )
    for (kind, b), crossover in CROSSOVERS.items():
        higher = latencies(P, b)["I"] > latencies(P, b)[f"backlogged, {kind}"]
        last = float(P[np.argmin(higher) - 1])
        checks.append(within(f"I above backlogged up to p, {kind} losses, b = {b}", last, crossover, 0.0011))
    names = {
        "I": "I: minimum RTO 0.5 s",
        "backlogged, correlated": "backlogged, correlated losses",
        "backlogged, random": "backlogged, random losses",
        "II": "II: padding",
        "III": "III: diversity",
    }
    figure = curves(
        P,
        [(names[name], values) for name, values in found.items()],
        title="Three ways to take the incentive away",
        subtitle=f"Mean time from a packet to its ack; RTT {RTT:g} s, RTO {RTO:g} s, an ack per packet",
        xlabel="loss ratio",
        ylabel="expected latency (s)",
        log=True,
    )
    return Outcome(checks, {"latency": pa.table({"p": P, **found})}, {"latency": figure})
