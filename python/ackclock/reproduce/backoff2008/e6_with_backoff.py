from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.backoff2008 import (
    required_exponent,
    response_time_with_backoff,
    response_time_without_backoff,
)
from ackclock.reproduce.backoff2008.e3_without_backoff import RTO
from ackclock.reproduce.item import Check, Outcome, Setting, item, six_digits

CASES = 10_000


@item(
    "B-E6",
    kind="CF",
    title="Response times with backoff, and theorem 2.1",
    choices={"random cases": f"{CASES}, fixed seed 2008"},
)
def reproduce(setting: Setting) -> Outcome:
    """Reference points, and r' >= r over random flows and capacities."""
    four = response_time_with_backoff([10] * 4, RTO, 1)
    many = float(response_time_with_backoff(10, 1.0, 2))
    checks = [
        six_digits("r' (s) of the four flows, k = 1", four, [4, 10, 20, 60]),
        six_digits("r' (s) of 120 flows, k = 2", many, 40),
        six_digits(
            "r (s) of 120 flows", response_time_without_backoff(np.full(120, 10), np.ones(120), 50.0)[0], 24
        ),
        _theorem(),
    ]
    return Outcome(checks, {"points": pa.table({"rto": RTO, "r_with_backoff": four})})


def _theorem() -> Check:
    rng, kept = np.random.default_rng(2008), 0
    for _ in range(CASES):
        flows = int(rng.integers(1, 40))
        rto, packets = rng.uniform(0.05, 10.0, flows), rng.integers(1, 2000, flows)
        capacity = (1 / rto).sum() * rng.uniform(0.01, 0.999)
        without, k = response_time_without_backoff(packets, rto, capacity), required_exponent(rto, capacity)
        equal = np.allclose(response_time_with_backoff(packets, rto, k), without, rtol=1e-12)
        kept += bool(
            equal and (response_time_with_backoff(packets, rto, np.ceil(k)) >= without * (1 - 1e-12)).all()
        )
    return Check(
        "r' >= r for whole k, r' = r for real k",
        f"{CASES} of {CASES} cases",
        f"{kept} of {CASES} cases",
        kept == CASES,
    )
