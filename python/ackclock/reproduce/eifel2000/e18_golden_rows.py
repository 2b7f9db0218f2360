from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.reproduce.eifel2000 import model
from ackclock.reproduce.item import Check, Outcome, Setting, exactly, item, six_digits

LOADS = (10, 26, 40)
FIRST = {
    ("lite", 10): [14.6313, 16.0541, 16.6735, 16.7465, 16.4586, 15.9428, 14.4186, 13.1865],
    ("lite", 26): [36.6295, 42.7529, 45.8729, 46.9243, 46.5855],
    ("lite", 40): [56.6448, 66.4320, 71.4351, 73.1423, 72.6332],
    ("eifel", 10): [14.0787, 13.5509, 13.1110, 12.7445, 12.4390, 12.1845, 12.1390, 12.1011],
    ("eifel", 26): [37.7667, 36.9822, 36.2538, 35.5775, 34.9494],
    ("eifel", 40): [58.6368, 57.7827, 56.9693, 56.1946, 55.4568],
}
# Largest timeout and its row, timeout at the end of the cycle, least margin, rows without margin, ratio after
# the first flight.
CYCLE = {
    ("lite", 10): (16.7465, 4, 12.0523, 0.448255, 0, [1.04981, 2.27754]),
    ("lite", 26): (46.9243, 4, 26.2210, -0.746967, 10, [0.97127, 1.92724]),
    ("lite", 40): (73.1423, 4, 40.0336, -0.961547, 18, [0.960231, 1.4087]),
    ("eifel", 10): (14.8553, 36, 14.7122, 3.40489, 0, [1.36096, 1.74064]),
    ("eifel", 26): (38.9204, 247, 38.6114, 11.1731, 0, [1.4581, 2.06502]),
    ("eifel", 40): (59.8920, 589, 59.5336, 17.9017, 0, [1.4715, 2.15731]),
}
LEAST_MARGIN_ROWS = {10: 22, 26: 235, 40: 571}
ONCE = {"lite": [1.21454, 2.835], "eifel": [1.14608, 2.23269]}


@item("E-E18", kind="MODEL", title="Reference rows of the step-by-step model", choices=model.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """Loads 10, 26 and 40 with both timers, in service times."""
    checks: list[Check] = []
    tables = {}
    for (name, load), first in FIRST.items():
        rows = model.steady(name, load)
        tables[f"{name}-{load}"] = pa.table(
            {**rows.series, **rows.made, "margin": rows.margin, "ratio": rows.ratio}
        )
        checks += cycle(name, load, rows, first)
    for name, expected in ONCE.items():
        rows = model.steady(name, 40, "once")
        ratio = rows.sampled(rows.ratio)
        checks.append(
            six_digits(
                f"{name}, one sample per RTT, load 40: least and largest ratio",
                [ratio.min(), ratio.max()],
                expected,
            )
        )
    return Outcome(checks, tables)


def cycle(name: str, load: int, rows, first: list[float]) -> list[Check]:
    """What the register pins of one cycle."""
    largest, at, end, margin, without, ratios = CYCLE[name, load]
    ratio = rows.ratio[rows.series["load"] > rows.series["load"][0]]
    what = f"{name}, load {load}"
    found = [
        six_digits(f"{what}: RTO of the first rows (service times)", rows.rto[: len(first)], first),
        six_digits(
            f"{what}: largest RTO, RTO at the end (service times)",
            [rows.rto.max(), rows.rto[-1]],
            [largest, end],
        ),
        exactly(f"{what}: row of the largest", int(rows.rto.argmax()) + 1, at),
        six_digits(f"{what}: least margin (service times)", rows.margin.min(), margin),
        exactly(f"{what}: rows without margin", int((rows.margin <= 0).sum()), without),
        six_digits(
            f"{what}: least and largest ratio after the first flight", [ratio.min(), ratio.max()], ratios
        ),
    ]
    if name == "lite":
        found.append(
            exactly(
                f"{what}: row of the least margin", int(np.argmin(rows.margin)) + 1, LEAST_MARGIN_ROWS[load]
            )
        )
    return found
