from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.models import mathis97 as m
from ackclock.reproduce.item import Outcome, Setting, at_most, between, item, stated
from ackclock.reproduce.mathis97 import bottleneck, stock
from ackclock.reproduce.mathis97.f5_propagation_rtt import picture

STACKS = {"Reno": "reno", "NewReno": "newreno", "SACK": "sack"}
ROOT2 = 2**0.5


def fit(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """C and k of equation (5), least squares of the logarithms."""
    k, c = np.polyfit(np.log([r["p"] for r in rows]), np.log([r["window"] for r in rows]), 1)
    return float(np.exp(c)), float(k)


def over(rows: list[dict[str, Any]], c: float, k: float) -> np.ndarray:
    """Windows over those of equation (5)."""
    return np.array([r["window"] for r in rows]) / m.power_law_window([r["p"] for r in rows], c, k)


@item(
    "M-F6",
    kind="SIM",
    title="The same, round-trip time measured by the connection",
    choices={
        **bottleneck.CHOICES,
        "equation (5)": "for points: C = 0.752, k = -0.524, which table 4 has for Reno with delayed acks; outliers are compared with the fit to the others here",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """All bandwidths with all queues; Reno, NewReno and SACK."""
    rows = bottleneck.grid(setting, {name: stock.tcp(preset, bottleneck.PACKET) for name, preset in STACKS.items()}, "M-F6")
    reno = [r for r in rows if r["stack"] == "Reno"]
    fast, slow = [r for r in reno if not bottleneck.slow(r)], [r for r in reno if bottleneck.slow(r)]
    c, k = fit(fast)
    near, far = over(fast, c, k), over(slow, c, k)
    by_place: dict[Any, list[float]] = {}
    for r in rows:
        by_place.setdefault((r["bandwidth"], r["queue"]), []).append(r["window"] * r["p"] ** 0.5)
    apart = max(max(v) / min(v) - 1 for v in by_place.values())
    checks = [
        between("windows over those of equation (5), packet time up to 200 ms", over(fast, *bottleneck.TABLE_4), 0.8, 1.2),
        stated(
            "the outliers are the runs with a packet time over 200 ms",
            f"those lie {far.min():.3f} to {far.max():.3f} above the fit, the others {near.min():.3f} to {near.max():.3f}",
            far.min() > near.max(),
            "all of them above all others",
        ),
        *(
            between(
                f"outliers over the fit, queue {queue}",
                [f for f, r in zip(far, slow, strict=True) if r["queue"] == queue],
                0.88 * ROOT2,
                1.12 * ROOT2,
            )
            for queue in bottleneck.QUEUES
        ),
        at_most("Reno, NewReno and SACK apart in window sqrt(p)", apart, 0.1, "at most"),
    ]
    against = over(slow, *bottleneck.TABLE_4)
    notes = [
        f"fit to the runs with packet times up to 200 ms: C = {c:.3f}, k = {k:.3f}",
        f"outliers over equation (5) as table 4 has it: {against.min():.3f} to {against.max():.3f}",
        "Packets of a cycle on the slowest line, and those that delayed acks take with the same queue: "
        + ", ".join(f"queue {q}: {1 / least(slow, q):.0f} and {1 / least(fast, q):.0f}" for q in bottleneck.QUEUES),
    ]
    title = "With the round-trip time that the connection measures it fits"
    fig = picture(reno, "window", title, "BW RTT/MSS (packets), RTT as sampled", ROOT2, "sqrt(2) times that")
    return Outcome(checks, {"runs": pa.Table.from_pylist(rows)}, {"windows": fig}, notes)


def least(rows: list[dict[str, Any]], queue: int) -> float:
    """p of the slowest line among some with this queue."""
    return min((r["bandwidth"], r["p"]) for r in rows if r["queue"] == queue)[1]
