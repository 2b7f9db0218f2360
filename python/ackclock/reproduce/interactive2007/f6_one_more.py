from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import Measured, measured
from ackclock.reproduce.interactive2007 import testbed
from ackclock.reproduce.item import Check, Outcome, Setting, at_most, item, stated
from ackclock.results import Run
from ackclock.results.confidence import half_width

FLOWS = (1, 5, 10, 20, 40)
SECONDS, SEEDS, FULL_SEEDS = 10, 3, 5
MANY = 10
"""Flows from which on one more must not matter."""
MOST_POINTS, MOST_PART = 0.01, 0.1
"""What one more may add: a percentage point, and a tenth of the loss."""
QUEUES = (testbed.RED, testbed.DROP_TAIL_BYTES)


def path(queue: str) -> ac.Dumbbell:
    """Three links of 2 ms one after the other: 100 Mbit/s, 10 Mbit/s, 100 Mbit/s."""
    there = ac.Link("10Mbit/s", delay="2ms", queue=testbed.queue(queue, 10))
    return ac.Dumbbell(
        bottleneck=there,
        access=ac.Link("100Mbit/s", delay="2ms", queue=ac.DropTail(limit="1000packets")),
        rtt="12ms",
    )


def loss(setting: Setting, queue: str, share: tuple[float, float]) -> dict[int, np.ndarray]:
    """Loss ratio at the bottleneck by number of flows, an entry for each seed."""
    seconds, seeds = (testbed.FULL, FULL_SEEDS) if setting.full else (SECONDS, SEEDS)
    numbers = sorted({n + more for n in FLOWS for more in (0, 1)})
    jobs = {
        (n, seed): testbed.scenario(
            path(queue), ac.Bulk(flows=n, spread="1s"), {"TCP": testbed.tcp()}, seconds, seed=seed
        )
        for n in numbers
        for seed in range(1, seeds + 1)
    }
    runs = dict(zip(jobs, setting.run_all(list(jobs.values()), "I-F6", share), strict=True))
    ratios = {key: dropped(run) for key, run in runs.items()}
    return {n: np.array([ratios[n, seed] for seed in range(1, seeds + 1)]) for n in numbers}


def dropped(run: Run) -> float:
    """The share of the packets that the bottleneck's queue drops."""
    there = next(link for link in run.links.to_pylist() if link["from"] == "left" and link["to"] == "right")
    return there["dropped_queue"] / there["packets_offered"]


def judged(queue: str, mean: dict[int, float], flows: Sequence[int] = FLOWS) -> list[Check]:
    """The register's statements about one queue. mean: loss by number of flows."""
    added = {n: mean[n + 1] - mean[n] for n in flows if n >= MANY}
    part = {n: added[n] / mean[n] for n in added}
    alone = np.array([mean[n] for n in flows])
    return [
        at_most(
            f"{queue}: what one more adds from {MANY} flows on, percentage points",
            100 * max(added.values()),
            100 * MOST_POINTS,
            "at most",
        ),
        at_most(f"{queue}: as a part of the loss", max(part.values()), MOST_PART, "at most"),
        stated(
            f"{queue}: loss does not fall with the number of flows",
            ", ".join(f"{100 * x:.3g} %" for x in alone),
            bool((np.diff(alone) >= 0).all()),
        ),
    ]


@item(
    "I-F6",
    kind="SIM",
    title="Loss against the number of backlogged flows, with and without one more",
    choices={
        "path": "access links of 100 Mbit/s, a bottleneck of 10 Mbit/s, 2 ms each, as in the paper",
        "queue": "40 kB at the bottleneck; RED, and drop-tail that counts bytes: the paper does not say "
        "which. Access links lose nothing",
        **{key: testbed.CHOICES[key] for key in ("RED", "packets", "TCP", "window", "acks", "timer")},
        "flows": f"{', '.join(map(str, FLOWS))} endless transfers, which begin within a second",
        "loss": f"dropped by the bottleneck's queue over packets offered to it, after {testbed.WARM:g} s",
        "duration": f"{SECONDS} s ({testbed.FULL:g} s with --full)",
        "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The loss at the bottleneck."""
    checks, notes, rows, series = [], [], [], []
    for k, queue in enumerate(QUEUES):
        found = loss(setting, queue, (k / 2, (k + 1) / 2))
        mean = {n: float(v.mean()) for n, v in found.items()}
        checks += judged(queue, mean)
        notes.append(
            f"{queue}: one more flow beside "
            + ", ".join(
                (
                    f"{n}: {100 * mean[n]:.3g} -> {100 * mean[n + 1]:.3g} % (+/- "
                    f"{100 * half_width(found[n + 1] - found[n]):.2g})"
                )
                for n in FLOWS
            )
        )
        for more, name in ((0, "flows"), (1, "flows and one more")):
            values = [found[n + more] for n in FLOWS]
            half = np.array([100 * half_width(v) for v in values])
            series.append(
                Measured(
                    f"{queue}, {name}",
                    np.array(FLOWS, float),
                    np.array([100 * v.mean() for v in values]),
                    half,
                )
            )
        rows += [
            {"queue": queue, "flows": n, "seed": seed, "loss": x}
            for n, v in found.items()
            for seed, x in enumerate(v.tolist(), start=1)
        ]
    figure = measured(
        series,
        title="How one more backlogged flow raises the loss",
        subtitle="10 Mbit/s, 12 ms, 40 kB; loss at the bottleneck, 95 % bands",
        xlabel="backlogged flows",
        ylabel="loss (%)",
    )
    return Outcome(checks, {"loss": pa.Table.from_pylist(rows)}, {"loss": figure}, notes)
