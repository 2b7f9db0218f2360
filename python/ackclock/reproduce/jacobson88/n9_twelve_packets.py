from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.jacobson88 import round_trips
from ackclock.models.timer import Array, Timer
from ackclock.plot import timers as draw
from ackclock.reproduce.item import Outcome, Setting, item, stated
from ackclock.reproduce.jacobson88 import timers

LAST = 64
"""Largest window of the climb, packets."""
LEAST = 8
"""The register's bound."""
TICKS = (256, 64, 16, 8, 4, 3, 2, 1)
"""Ticks of the clock for each packet time."""


def smallest(timer: Timer, series: dict[str, Array]) -> int | None:
    """The window in which an increment first makes a round-trip time longer than the timeout before it; None
    when none does.
    """
    at = np.flatnonzero(timer.rows(series)["spurious"])
    # The increment that opens a window of w comes after w - 1 packets without one.
    return int(series["flight_size"][at[0]]) - 1 if at.size else None


@item(
    "J-N9",
    kind="MODEL",
    title="How far apart increments must be to cause a timeout",
    choices={
        "path": "only the bottleneck takes time: a window of w packets has a round-trip time of w packet "
        "times, and an increment adds one",
        "window": f"climbs from 1 to {LAST} packets, one each round trip, every packet timed; the timer "
        "starts at the first sample",
        "timeout": "a round-trip time above the timeout that the ack before left",
        "tick": "1/256 of a packet time; coarser ones in the table",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The smallest window with a timeout that an increment causes, which is the distance of the increments in
    packets.
    """
    series = round_trips.climb(1, LAST)
    timer = timers.ticking(1 / TICKS[0])
    window = smallest(timer, series)
    rows = [
        {
            "timer": f"J-A6, {n} ticks for each packet",
            "smallest window": smallest(timers.ticking(1 / n), series),
        }
        for n in TICKS
    ]
    rows.append({"timer": "J-A4, real arithmetic", "smallest window": smallest(timers.REAL, series)})
    rows.append(
        {
            "timer": "J-A4, weight 2",
            "smallest window": smallest(Timer("jacobson88", (*timers.REAL.params, ("weight", "2"))), series),
        }
    )
    rows.append(
        {
            "timer": "J-A4, one packet in each round trip timed",
            "smallest window": smallest(timers.REAL, round_trips.climb(1, LAST, once=True)),
        }
    )
    words = ", ".join(f"{r['timer']}: {r['smallest window'] or 'none'}" for r in rows)
    none = f"none up to {LAST}"
    checks = [
        stated(
            "smallest window with a timeout (packets)",
            str(window or none),
            window is None or window >= LEAST,
            f"not below {LEAST}",
        )
    ]
    made = timer.rows(series)
    last = 22 * 23 // 2
    fig = draw(
        series["time"][:last],
        series["rtt"][:last],
        {"timeout: mean + 4 deviations": timers.before(made)[:last]},
        title="Increments that overtake the timeout",
        subtitle="One packet more each round trip; below, the first increments whose packet takes longer "
        "than the timeout",
        zoom=(13 * 14 / 2, 19 * 20 / 2),
        unit="packet times",
    )
    late = np.flatnonzero(made["spurious"][:last])
    for axes in fig.axes:
        axes.plot(series["time"][late], series["rtt"][late], "v", color="#D55E00", markersize=5)
    notes = [
        f"Smallest windows up to {LAST}: {words}",
        "The paper says twelve; a jump leaves a deviation of 2 (0.875^n - 0.75^n) packet times, which "
        "no longer covers the next one from n = 14 on",
    ]
    return Outcome(checks, {"windows": pa.Table.from_pylist(rows)}, {"rto": fig}, notes)
