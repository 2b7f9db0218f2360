from __future__ import annotations

import pyarrow as pa

from ackclock.reproduce.eifel2000 import model
from ackclock.reproduce.item import Outcome, Setting, exactly, item, six_digits, within

LEAST = {6: 1.23923, 8: 1.30524, 10: 1.24344, 20: 1.22352, 26: 1.19137, 40: 1.14608}


@item(
    "E-X5",
    kind="MODEL",
    title="A gain of 1/3 is safe where one segment per round trip is timed",
    choices={
        **model.CHOICES,
        "which segment is timed": "the first of each flight",
        "load 4": "converges slowly: cycle 60 is checked",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Loads of 4 to 40, one sample in each flight."""
    loads = range(4, 41, 2)
    rows = {n: model.steady("eifel", n, "once", 60 if n == 4 else model.CYCLES) for n in loads}
    least = {n: float(r.sampled(r.ratio).min()) for n, r in rows.items()}
    checks = [
        exactly(
            "samples above the timeout, all loads",
            sum(int((r.sampled(r.margin) < 0).sum()) for r in rows.values()),
            0,
        ),
        within("least ratio, load 4", least[4], 1.3006, 2e-4),
        six_digits(
            f"least ratio, loads {', '.join(map(str, LEAST))}",
            [least[n] for n in LEAST],
            list(LEAST.values()),
        ),
    ]
    return Outcome(checks, {"ratios": pa.table({"load": list(least), "least_ratio": list(least.values())})})
