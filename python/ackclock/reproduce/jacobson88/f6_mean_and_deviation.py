from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.jacobson88 import round_trips
from ackclock.models.timer import Array
from ackclock.reproduce.item import Outcome, Setting, at_most, exactly, item, stated
from ackclock.reproduce.jacobson88 import timers
from ackclock.reproduce.jacobson88.f5_rfc793_timer import CHOICES, FLAT, SEEDS, compare, picture, table
from ackclock.scenario import variation

RISE, FALL = 50, 66
"""Packets after which the series begins to rise and to fall."""


def rise_and_fall(rto: Array) -> tuple[int, int]:
    """Packets from the beginning of the rise until the timeout is highest, and from that of the fall until
    half of the excess is gone for good.
    """
    level = rto[RISE - 1]
    top = RISE + int(np.argmax(rto[RISE:]))
    high = np.flatnonzero(rto >= (level + rto[top]) / 2)
    return top - (RISE - 1), int(high[-1]) + 1 - (FALL - 1)


def ticks() -> tuple[pa.Table, str]:
    """Spurious timeouts and the mean excess over the flat part, by tick of the clock: a row for each, over
    seeds of the noise.
    """
    series = [round_trips.arpanet(variation.seed(seed)) for seed in range(SEEDS)]
    rows = []
    for tick in (1.0, 0.5, 0.2, 0.1, 0.01):
        made = [timers.ticking(tick).rows(s) for s in series]
        excess = [(timers.before(m) - s["rtt"])[FLAT].mean() for m, s in zip(made, series, strict=True)]
        rows.append(
            {
                "tick (s)": tick,
                "spurious": float(np.mean([m["spurious"].sum() for m in made])),
                "RTO - RTT when flat (s)": float(np.mean(excess)),
            }
        )
    shown = ", ".join(
        f"{r['tick (s)']:g} s: {r['spurious']:.2f} spurious, {r['RTO - RTT when flat (s)']:.3g} s"
        for r in rows
    )
    return pa.Table.from_pylist(
        rows
    ), f"J-A6 by tick, mean over {SEEDS} seeds (spurious timeouts, and RTO - RTT over the flat part): {shown}"


@item(
    "J-F6",
    kind="MODEL",
    title="The timer of mean and deviation on the same series",
    choices={
        **CHOICES,
        "time to fall": "from the first packet whose round-trip time falls, so that the stay at the top "
        "does not count as slowness",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """No timeout comes before its ack, and less time is wasted while nothing happens."""
    series, rows = compare()
    excess = {name: float((timers.before(r) - series["rtt"])[FLAT].mean()) for name, r in rows.items()}
    rise, fall = rise_and_fall(rows["mean + 4 deviations"]["rto"])
    over, note = ticks()
    behind = [timers.before(r) - series["rtt"] for r in rows.values()]
    since = {n: [float(b[n - 1 :].mean()) for b in behind] for n in (75, 81, 86, 91, 96, 101)}
    words = ", ".join(f"from packet {n} on: {old:.2f} and {new:.2f} s" for n, (old, new) in since.items())
    checks = [
        exactly(
            "packets whose round-trip time is above the timeout",
            int(rows["mean + 4 deviations"]["spurious"].sum()),
            0,
        ),
        at_most(
            "mean RTO - RTT (s) over the flat part",
            excess["mean + 4 deviations"],
            excess["RFC 793"],
            "less than that of RFC 793",
        ),
        stated(
            "the timeout takes longer to fall to half of its excess than to rise",
            f"{fall} packets to fall, {rise} to rise",
            fall > rise,
        ),
    ]
    fig = picture(
        series,
        {name: timers.before(r) for name, r in rows.items()},
        "The timer of mean and deviation, and RFC 793's",
    )
    return Outcome(
        checks,
        {"packets": table(series, rows), "ticks": over},
        {"rto": fig},
        [note, f"Mean RTO - RTT of RFC 793 and J-A6 {words}"],
    )
