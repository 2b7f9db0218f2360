from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models import interactive2007 as i
from ackclock.reproduce.item import Outcome, Setting, item, within
from ackclock.scenario import variation

RTT, RTO = 0.1, 1.0
CASES = ((0.01, 0.210479), (0.05, 0.499193), (0.05, 0.142625), (0.1, 0.692631), (0.1, 0.271))
"""Loss, and the share of first losses that time out: correlated losses (I-E6, b = 1) and three dummies
(I-E11).
"""
PACKETS, PACKETS_FULL = 20_000_000, 200_000_000
BLOCK = 2_000_000


def walk(p: float, q: float, packets: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Walks the tree for so many packets; how many were lost 0, 1, 2, ... times, and their latencies (s),
    added up.
    """
    count, total = np.zeros(64), np.zeros(64)
    for _ in range(0, packets, BLOCK):
        lost = rng.geometric(1.0 - p, BLOCK) - 1
        timeout = rng.random(BLOCK) < q
        # The first loss is found by a timeout, or after a round trip by duplicate acks; whatever is lost
        # again by timeouts that double.
        first = np.where(timeout, RTO, RTT)
        doubled = np.where(timeout, 2.0, 1.0) * (2.0 ** (lost - 1) - 1.0) * RTO
        latency = RTT + np.where(lost > 0, first + doubled, 0.0)
        count += np.bincount(lost, minlength=64)
        total += np.bincount(lost, latency, minlength=64)
    return count, total


@item(
    "I-F2",
    kind="CF",
    title="The tree of decisions: what a lost packet costs",
    choices={
        "loss, Q": f"{', '.join(f'({p:g}, {q:g})' for p, q in CASES)}: backlogged flows with correlated "
        "losses, and padded ones",
        "RTO, RTT": f"{RTO:g} s and {RTT:g} s, the reference inputs of all items",
        "packets": f"{PACKETS:,} for each, drawn from the tree with a fixed seed ({PACKETS_FULL:,} with "
        "--full)",
        "first timeout after a fast retransmit that was lost": "RTO, not doubled, as equation (9) has it",
    },
    points_at=["formula backlogged-latency", "formula backlogged-failed-latency"],
    tests=["tests/test_models_interactive2007.py::test_means_are_those_of_their_distributions"],
)
def reproduce(setting: Setting) -> Outcome:
    """A walk through the tree for many packets, against equations (9) and (10)."""
    rng, rows, checks = np.random.default_rng(variation.seed(2007)), [], []
    for done, (p, q) in enumerate(CASES):
        setting.progress(done / len(CASES), "I-F2")
        count, total = walk(p, q, PACKETS_FULL if setting.full else PACKETS, rng)
        mean, expected = total.sum() / count.sum(), float(i.backlogged_latency(p, q, RTT, RTO))
        checks.append(
            within(f"E[L'] over equation (10) at p = {p:g}, Q = {q:g}", mean / expected, 1.0, 0.005)
        )
        apart = [total[n] / count[n] / float(i.backlogged_failed_latency(n, q, RTT, RTO)) for n in range(3)]
        checks.append(
            within(
                f"L'(0) to L'(2) over equation (9), farthest from 1, at p = {p:g}, Q = {q:g}",
                max(apart, key=lambda a: abs(a - 1)),
                1.0,
                0.005,
            )
        )
        rows.append(
            {
                "p": p,
                "q": q,
                "mean": mean,
                "expected": expected,
                **{f"lost_{n}": a for n, a in enumerate(apart)},
            }
        )
    return Outcome(checks, {"cases": pa.Table.from_pylist(rows)})
