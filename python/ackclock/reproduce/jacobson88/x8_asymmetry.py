from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.jacobson88 import round_trips
from ackclock.models.timer import Array
from ackclock.plot import timers as draw
from ackclock.reproduce.item import Outcome, Setting, exactly, item, stated
from ackclock.reproduce.jacobson88 import equations, timers

LOW, HIGH, SETTLED, ROWS = 2, 10, 60, 180
"""Round-trip times in ticks, and packets before and after each step."""


def golden(sa: int, sample: int, rows: int) -> list[str]:
    """Rows (sa, sv, rto) of the registered estimator, in ticks, from `sa` and sv = 0, as words."""
    s = round_trips.step(sample, sample, 0, rows)
    made = timers.ticking(1.0, min_ticks="0", start="given", start_sa=str(sa), start_sv="0").rows(s)
    return equations.words(
        list(zip(*(made[name].astype(int).tolist() for name in ("sa", "sv", "rto")), strict=True))
    )


def crossing(rto: Array, above: bool) -> int:
    """Packets after the step until half of the way between the timeouts before and long after it is passed
    for good.
    """
    old, new = rto[SETTLED - 1], rto[-1]
    half = (old + new) / 2
    other_side = np.flatnonzero(rto[SETTLED:] < half if above else rto[SETTLED:] > half)
    return int(other_side[-1]) + 2 if other_side.size else 1


@item(
    "J-X8",
    kind="MODEL",
    title="The timer rises fast and falls slowly",
    choices={
        "ticks": "of 1 s, round-trip times of 2 and 10 ticks, a packet every 10 ticks; no floor",
        "time to rise": "packets from the step until the timeout covers the new round-trip time",
        "time to fall": "packets from the step until half of the difference between the timeouts before "
        "and long after it is gone",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The reference rows of J-E7 from the estimator that connections run, and one step each way."""
    up = round_trips.step(LOW, HIGH, SETTLED, SETTLED + ROWS)
    down = round_trips.step(HIGH, LOW, SETTLED, SETTLED + ROWS)
    timer = timers.ticking(1.0, min_ticks="0")
    rises, falls = (timer.rows(s)["rto"] for s in (up, down))
    rise, fall = int(np.argmax(rises[SETTLED:] >= HIGH)) + 1, crossing(falls, above=False)
    level, top = falls[SETTLED - 1], falls[SETTLED:].max()
    checks = [
        exactly(
            "rows (sa sv rto) from sa = 16, sv = 0, samples of 10",
            golden(16, 10, 12),
            equations.words(equations.GOLDEN_RISE),
        ),
        exactly(
            "rows from sa = 80, sv = 0, samples of 2",
            golden(80, 2, 16),
            equations.words(equations.GOLDEN_FALL),
        ),
        stated(
            "time to fall is longer than time to rise", f"{fall} packets to fall, {rise} to rise", fall > rise
        ),
    ]
    # Both steps in one series, as the figure shows them.
    both = {"rtt": np.concatenate([up["rtt"][: SETTLED + 60], down["rtt"][SETTLED : SETTLED + 60]])}
    both["time"] = 10.0 * (np.arange(both["rtt"].size) + 1) + HIGH
    rto = timers.before(timer.rows(both))
    shown = slice(SETTLED - 20, None)
    fig = draw(
        np.arange(1, rto.size + 1)[shown],
        both["rtt"][shown],
        {"timeout: mean + 4 deviations, whole ticks": rto[shown]},
        title="The timeout rises fast and falls slowly",
        subtitle="Round-trip time of 2 ticks, then 10, then 2 again; a sample for each packet",
    )
    fig.axes[0].set(xlabel="packet", ylabel="ticks")
    note = (
        f"When the round-trip time falls from {HIGH} to {LOW} ticks the timeout first rises, from "
        f"{level:g} to {top:g} ticks (E-A4)"
    )
    return Outcome(checks, {"steps": pa.table({**both, "rto": rto})}, {"rto": fig}, [note])
