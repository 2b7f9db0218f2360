"""The reference rows of J-E7, and the timers that connections run, from given estimates on."""

from __future__ import annotations

import numpy as np

from ackclock.models import Timer

GOLDEN_RISE = [
    *((24, 8, 11), (31, 13, 16), (38, 17, 21), (44, 19, 24), (49, 20, 26), (53, 19, 25)),
    *((57, 19, 26), (60, 18, 25), (63, 17, 24), (66, 16, 24), (68, 14, 22), (70, 13, 21)),
]
GOLDEN_FALL = [
    *(
        (72, 8, 17),
        (65, 13, 21),
        (59, 16, 23),
        (54, 17, 23),
        (50, 17, 23),
        (46, 17, 22),
        (43, 16, 21),
        (40, 15, 20),
    ),
    *(
        (37, 15, 19),
        (35, 14, 18),
        (33, 13, 17),
        (31, 12, 15),
        (30, 10, 13),
        (29, 9, 12),
        (28, 8, 11),
        (27, 7, 10),
    ),
]


def ticks(sa: int, sv: int, samples: list[int], n: int = 2) -> list[tuple[int, int, int]]:
    """Rows (sa, sv, (sa >> 3) + sv) of the integer timer that connections run, a tick being a second; n = 2
    is the final one (J-A6).
    """
    form = {2: "final", 3: "one-gain"}[n]
    timer = Timer("jacobson88-ticks", (("form", form), ("tick", "1s"), ("min_ticks", "0"), ("max_rto", "1h")))
    m = np.asarray(samples, float)
    rows = timer.rows({"time": 1000.0 * np.arange(1, m.size + 1), "rtt": m}, start=(sa / 8, sv / 2**n))
    return [(int(a), int(v), (int(a) >> 3) + int(v)) for a, v in zip(rows["sa"], rows["sv"], strict=True)]


def real(mean: float, deviation: float, samples: list[float], weight: float = 4.0) -> list[list[float]]:
    """Rows (a, v, rto) of the timer in real arithmetic that connections run."""
    timer = Timer("jacobson88", (("weight", f"{weight:g}"), ("min_rto", "0s"), ("max_rto", "1h")))
    m = np.asarray(samples, float)
    rows = timer.rows({"time": np.cumsum(m), "rtt": m}, start=(mean, deviation))
    return [[float(rows[name][k]) for name in ("srtt", "rttvar", "rto")] for k in range(m.size)]


def words(rows: list[tuple[int, int, int]]) -> list[str]:
    """Integer rows as text."""
    return [f"({a} {b} {c})" for a, b, c in rows]


GOLDEN_REAL = [
    *((3, 2, 11), (3.875, 3.25, 16.875), (4.64062, 3.96875, 20.5156)),
    *((5.31055, 4.31641, 22.5762), (5.89673, 4.40967, 23.5354), (6.40964, 4.33307, 23.7419)),
]
